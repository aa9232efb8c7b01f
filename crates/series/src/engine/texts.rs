//! Keys that hold texts (strings).

use super::Access;
use crate::error::KeyError;
use crate::keyspace::{Entry, Expiry, Value};
use crate::record::Record;
use std::sync::Arc;

impl Access<'_> {
    /// Sets a key to a text, whatever it held.
    pub fn set_text(&self, db: u8, key: &[u8], text: &[u8], expiry: Expiry) {
        let database = self.database(db);
        let mut shard = database.write(key);
        let old = shard.remove(key);
        let expires_at = match expiry {
            Expiry::Keep => old.as_ref().map_or(i64::MAX, |entry| entry.expires_at),
            Expiry::Clear => i64::MAX,
            Expiry::At(time) => time,
        };
        self.log(&Record::Text {
            db,
            key,
            text,
            expires_at,
        });
        database.note_expiry(key, expires_at);
        shard.insert(
            key.into(),
            Entry {
                value: Value::Text(text.into()),
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

    /// Reads and changes a text in one step. `change` gets the text, or nothing if there is no key, and gives the new text, or nothing
    /// to leave it. The life of the key stays.
    pub fn update_text<R>(
        &self,
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
            Some(Entry {
                value: Value::Text(text),
                expires_at,
            }) => (Some(Arc::clone(text)), *expires_at),
            Some(_) => return Err(KeyError::WrongType),
        };
        let (new, answer) = change(old.as_deref());
        if let Some(new) = new {
            self.log(&Record::Text {
                db,
                key,
                text: &new,
                expires_at,
            });
            shard.insert(
                key.into(),
                Entry {
                    value: Value::Text(new.into()),
                    expires_at,
                },
            );
            drop(shard);
            self.tell_changed(db, key);
        }
        Ok(answer)
    }
}
