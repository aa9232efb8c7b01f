//! Copying keys, and taking them out and in as bytes (COPY, DUMP, RESTORE).

use super::Access;
use crate::error::RestoreError;
use crate::keyspace::{Entry, Expiry, Plain, Value};
use crate::record::Record;
use crate::series::{Series, SeriesBody};
use crate::snapshot::{append_body, read_body};
use crate::view::ReadError;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// First bytes of what DUMP gives: the kind of value follows. The last four bytes are a checksum of all before.
const MAGIC: &[u8; 4] = b"TLD1";
const SERIES: u8 = 1;
const TEXT: u8 = 2;
const LIST: u8 = 3;

impl Access<'_> {
    /// Copies a key: data and labels, not rules (7.6), and its end. Says whether it was done: not if there is no such key, or the name
    /// is taken and not to be replaced. Needs an exclusive access.
    pub fn copy(&self, db: u8, from: &[u8], to_db: u8, to: &[u8], replace: bool) -> Result<bool, ReadError> {
        assert!(self.is_exclusive(), "bug: copying needs an exclusive access");
        let Some(value) = self.value(db, from) else {
            return Ok(false);
        };
        let expires_at = self.expires_at(db, from).flatten().unwrap_or(i64::MAX);
        if (db, from) == (to_db, to) || (self.value(to_db, to).is_some() && !replace) {
            return Ok(false);
        }
        match value {
            Value::Text(text) => self.set_plain(Plain::Text, to_db, to, &text, expiry(expires_at)),
            Value::List(list) => self.set_plain(Plain::List, to_db, to, &list, expiry(expires_at)),
            Value::Series(series) => {
                let body = self.body_without_rules(&series)?;
                self.remove(to_db, to);
                self.insert_body(to_db, to, body, expires_at);
            }
        }
        Ok(true)
    }

    /// A key as bytes that [`Access::restore`] takes on a server of this kind. Nothing if there is no such key.
    pub fn dump(&self, db: u8, key: &[u8]) -> Option<Result<Vec<u8>, ReadError>> {
        let mut payload = MAGIC.to_vec();
        match self.value(db, key)? {
            Value::Text(text) => {
                payload.push(TEXT);
                payload.extend_from_slice(&text);
            }
            Value::List(list) => {
                payload.push(LIST);
                payload.extend_from_slice(&list);
            }
            Value::Series(series) => {
                payload.push(SERIES);
                match self
                    .body_without_rules(&series)
                    .and_then(|body| append_body(&body, &mut payload))
                {
                    Ok(()) => {}
                    Err(error) => return Some(Err(error)),
                }
            }
        }
        payload.extend_from_slice(&crc32c::crc32c(&payload).to_le_bytes());
        Some(Ok(payload))
    }

    /// Makes a key of what [`Access::dump`] gave. Needs an exclusive access.
    pub fn restore(
        &self,
        db: u8,
        key: &[u8],
        payload: &[u8],
        expires_at: Option<i64>,
        replace: bool,
    ) -> Result<(), RestoreError> {
        assert!(self.is_exclusive(), "bug: restoring needs an exclusive access");
        if self.value(db, key).is_some() && !replace {
            return Err(RestoreError::KeyExists);
        }
        let (content, checksum) = payload.split_last_chunk::<4>().ok_or(RestoreError::BadPayload)?;
        if crc32c::crc32c(content) != u32::from_le_bytes(*checksum) {
            return Err(RestoreError::BadPayload);
        }
        let expires_at = expires_at.unwrap_or(i64::MAX);
        match content.strip_prefix(MAGIC.as_slice()) {
            Some([TEXT, text @ ..]) => self.set_plain(Plain::Text, db, key, text, expiry(expires_at)),
            Some([LIST, list @ ..]) => self.set_plain(Plain::List, db, key, list, expiry(expires_at)),
            Some([SERIES, body @ ..]) => {
                let body = read_body(body).map_err(|_| RestoreError::BadPayload)?;
                // What breaks the rules of a series is found before the old key goes.
                Series::from_body(0, db, key.into(), &body).map_err(|_| RestoreError::BadPayload)?;
                self.remove(db, key);
                self.insert_body(db, key, body, expires_at);
            }
            _ => return Err(RestoreError::BadPayload),
        }
        Ok(())
    }

    fn body_without_rules(&self, series: &Arc<Series>) -> Result<SeriesBody, ReadError> {
        series.collect_from_source(false)?;
        let mut body = series.state.lock().body()?;
        body.rules.clear();
        Ok(body)
    }

    /// Makes a series of a body under a free key, and logs it.
    fn insert_body(&self, db: u8, key: &[u8], mut body: SeriesBody, expires_at: i64) {
        let id = self.engine.next_id.fetch_add(1, Ordering::Relaxed);
        body.rules.clear();
        let mut bytes = Vec::new();
        if let Err(error) = append_body(&body, &mut bytes) {
            self.engine.journal.warn(error.to_string());
            return;
        }
        body.applied = self.log(&Record::Restore {
            id,
            db,
            key,
            expires_at,
            body: &bytes,
        });
        match Series::from_body(id, db, key.into(), &body) {
            Ok(series) => self.place(
                db,
                key,
                Entry {
                    value: Value::Series(series),
                    expires_at,
                },
            ),
            Err(error) => self.engine.journal.warn(error.to_string()),
        }
        self.tell_changed(db, key);
    }
}

fn expiry(expires_at: i64) -> Expiry {
    if expires_at == i64::MAX {
        Expiry::Clear
    } else {
        Expiry::At(expires_at)
    }
}
