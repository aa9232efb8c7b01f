//! The part of the head that belongs to one range of log segments and becomes one data object.

use super::source::HeadSource;
use super::tenant::TenantHead;
use crate::record::{RecordError, read_tenant};
use hashbrown::HashMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use timberline_store::TenantId;

/// The part that grows.
#[derive(Debug)]
pub(crate) struct ActiveSegment {
    tenants: HashMap<TenantId, TenantHead>,
    /// First log segment that its rows may come from.
    first_sequence: u64,
    /// When its first row came.
    begun: Option<Instant>,
    rows: u64,
    bytes: usize,
}

/// A part that no longer grows and waits to be published.
#[derive(Debug)]
pub(crate) struct FrozenSegment {
    pub(crate) tenants: BTreeMap<TenantId, Arc<HeadSource>>,
    /// First and last log segment that hold its rows.
    pub(crate) sequences: (u64, u64),
    pub(crate) rows: u64,
    pub(crate) bytes: usize,
}

impl ActiveSegment {
    pub(crate) fn new(first_sequence: u64) -> Self {
        Self {
            tenants: HashMap::new(),
            first_sequence,
            begun: None,
            rows: 0,
            bytes: 0,
        }
    }

    /// Adds the entries of a record's payload.
    pub(crate) fn add(&mut self, tenant: &TenantId, payload: &[u8]) -> Result<(), RecordError> {
        let (_, start) = read_tenant(payload)?;
        if !self.tenants.contains_key(tenant) {
            self.tenants.insert(tenant.clone(), TenantHead::default());
        }
        let head = self
            .tenants
            .get_mut(tenant)
            .expect("bug: a tenant just added is missing");
        let (rows, bytes) = (head.rows(), head.bytes());
        let added = head.add(payload, start);
        self.rows += head.rows() - rows;
        self.bytes += head.bytes() - bytes;
        if self.rows > 0 {
            self.begun.get_or_insert_with(Instant::now);
        }
        added
    }

    pub(crate) fn tenant(&self, tenant: &TenantId) -> Option<&TenantHead> {
        self.tenants.get(tenant)
    }

    pub(crate) fn tenants(&self) -> impl Iterator<Item = (&TenantId, &TenantHead)> {
        self.tenants.iter()
    }

    pub(crate) fn tenant_count(&self) -> usize {
        self.tenants.len()
    }

    pub(crate) fn begun(&self) -> Option<Instant> {
        self.begun
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The same rows, frozen; `last_sequence` is the last log segment that holds some.
    pub(crate) fn freeze(self, last_sequence: u64) -> FrozenSegment {
        let frozen = |(tenant, head): (TenantId, TenantHead)| Some((tenant, Arc::new(head.freeze()?)));
        FrozenSegment {
            sequences: (self.first_sequence, last_sequence),
            rows: self.rows,
            bytes: self.bytes,
            tenants: self.tenants.into_iter().filter_map(frozen).collect(),
        }
    }
}
