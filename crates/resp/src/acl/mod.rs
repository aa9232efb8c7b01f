//! Who may do what (ACL): users, their passwords, and the commands, keys and channels that they may use.

mod rules;
mod user;

pub(crate) use rules::{CATEGORIES, in_category};
pub(crate) use user::{Permission, User};

use parking_lot::RwLock;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The name of the user that clients are before they say otherwise.
pub(crate) const DEFAULT_USER: &str = "default";

/// All users.
pub(crate) struct Acl {
    users: RwLock<BTreeMap<String, Arc<User>>>,
    version: AtomicU64,
}

impl Default for Acl {
    fn default() -> Acl {
        let user = User::everything(DEFAULT_USER);
        Acl {
            users: RwLock::new(BTreeMap::from([(DEFAULT_USER.to_owned(), Arc::new(user))])),
            version: AtomicU64::new(0),
        }
    }
}

impl Acl {
    /// Changes with every change of a user: who holds one looks here whether it is still so.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub(crate) fn default_user(&self) -> (Arc<User>, u64) {
        let users = self.users.read();
        let user = users.get(DEFAULT_USER).expect("bug: the default user is never removed");
        (Arc::clone(user), self.version())
    }

    pub(crate) fn user(&self, name: &str) -> Option<Arc<User>> {
        self.users.read().get(name).cloned()
    }

    pub(crate) fn users(&self) -> Vec<Arc<User>> {
        self.users.read().values().cloned().collect()
    }

    /// Changes a user, or makes one that may nothing first. All rules or none.
    pub(crate) fn set<'r>(&self, name: &str, rules: impl IntoIterator<Item = &'r str>) -> Result<(), String> {
        let mut users = self.users.write();
        let mut user = users
            .get(name)
            .map_or_else(|| User::nothing(name), |user| User::clone(user));
        for rule in rules {
            user.apply(rule)
                .map_err(|reason| format!("ERR Error in ACL SETUSER modifier '{rule}': {reason}"))?;
        }
        users.insert(name.to_owned(), Arc::new(user));
        self.version.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// Removes a user. Says whether there was one.
    pub(crate) fn remove(&self, name: &str) -> bool {
        let was_there = self.users.write().remove(name).is_some();
        self.version.fetch_add(1, Ordering::AcqRel);
        was_there
    }

    /// The user of a name, if the password is right.
    pub(crate) fn log_in(&self, name: &str, password: &[u8]) -> Option<(Arc<User>, u64)> {
        let version = self.version();
        let user = self.user(name)?;
        let is_right = user.is_enabled && (user.no_password || user.passwords.contains(&hash(password)));
        is_right.then_some((user, version))
    }
}

/// What is kept of a password. A hash is compared, so that the time it takes tells nothing of the password.
pub(crate) fn hash(password: &[u8]) -> [u8; 32] {
    Sha256::digest(password).into()
}

/// Bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
