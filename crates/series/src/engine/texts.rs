//! Keys that hold texts (strings) or lists.

use super::Access;
use crate::error::KeyError;
use crate::keyspace::{Entry, Expiry, Plain, Value};
use crate::record::Record;
use std::sync::Arc;

impl Access<'_> {
    /// Sets a key to a text, whatever it held.
    pub fn set_text(&self, db: u8, key: &[u8], text: &[u8], expiry: Expiry) {
        self.set_plain(Plain::Text, db, key, text, expiry);
    }

    /// Sets a key to plain bytes, whatever it held.
    pub(crate) fn set_plain(&self, plain: Plain, db: u8, key: &[u8], text: &[u8], expiry: Expiry) {
        let database = self.database(db);
        let mut shard = database.write(key);
        let old = shard.remove(key);
        let expires_at = match expiry {
            Expiry::Keep => old.as_ref().map_or(i64::MAX, |entry| entry.expires_at),
            Expiry::Clear => i64::MAX,
            Expiry::At(time) => time,
        };
        self.log(&Record::Text {
            plain,
            db,
            key,
            text,
            expires_at,
        });
        database.note_expiry(key, expires_at);
        shard.insert(
            key.into(),
            Entry {
                value: plain.value(text),
                expires_at,
            },
        );
        drop(shard);
        drop(database);
        if let Some(Value::Series(series)) = old.map(|entry| entry.value) {
            self.forget(&series);
        }
        self.tell_changed(db, key);
    }

    /// Reads and changes a text or a list in one step. `change` gets its bytes, or nothing if there is no key, and gives the new ones, or
    /// nothing to leave it. A list that becomes empty goes. The life of the key stays.
    pub fn update_plain<R>(
        &self,
        plain: Plain,
        db: u8,
        key: &[u8],
        change: impl FnOnce(Option<&[u8]>) -> (Option<Vec<u8>>, R),
    ) -> Result<R, KeyError> {
        // An expired key counts as none.
        let _ = self.value(db, key);
        let database = self.database(db);
        let mut shard = database.write(key);
        let (old, expires_at) = match shard.get(key) {
            None => (None, i64::MAX),
            Some(Entry { value, expires_at }) => match (value, plain) {
                (Value::Text(bytes), Plain::Text) | (Value::List(bytes), Plain::List) => {
                    (Some(Arc::clone(bytes)), *expires_at)
                }
                _ => return Err(KeyError::WrongType),
            },
        };
        let (new, answer) = change(old.as_deref());
        let Some(new) = new else { return Ok(answer) };
        if plain == Plain::List && new.is_empty() {
            shard.remove(key);
            self.log(&Record::Remove { db, key });
        } else {
            self.log(&Record::Text {
                plain,
                db,
                key,
                text: &new,
                expires_at,
            });
            let value = plain.value(&new);
            shard.insert(key.into(), Entry { value, expires_at });
        }
        drop(shard);
        self.tell_changed(db, key);
        Ok(answer)
    }
}
