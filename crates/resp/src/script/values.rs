//! Replies as values of Lua, and the other way round.

use crate::protocol::Reply;
use mlua::{Lua, Table, Value};

/// How deep tables that a script returns may be nested.
const MAX_DEPTH: usize = 64;

/// Writes a value that a script returned: numbers become integers, a table is an array up to its first nil, and the fields `ok`, `err` and
/// `double` make a table a reply of their kind.
pub(super) fn append_value(reply: &mut Reply, value: &Value, depth: usize) -> mlua::Result<()> {
    if depth > MAX_DEPTH {
        return Err(mlua::Error::runtime("reached lua stack limit"));
    }
    match value {
        Value::String(text) => reply.bulk(&text.as_bytes()),
        Value::Integer(number) => reply.integer(*number),
        Value::Number(number) => reply.integer(*number as i64),
        Value::Boolean(true) => reply.integer(1),
        Value::Table(table) => append_table(reply, table, depth)?,
        _ => reply.null(),
    }
    Ok(())
}

fn append_table(reply: &mut Reply, table: &Table, depth: usize) -> mlua::Result<()> {
    if let Value::String(text) = table.raw_get("err")? {
        reply.error(&text.to_string_lossy());
        return Ok(());
    }
    if let Value::String(text) = table.raw_get("ok")? {
        reply.simple(&text.to_string_lossy());
        return Ok(());
    }
    match table.raw_get("double")? {
        Value::Number(number) => {
            reply.double(number);
            return Ok(());
        }
        Value::Integer(number) => {
            reply.double(number as f64);
            return Ok(());
        }
        _ => {}
    }
    let mut elements = Vec::new();
    loop {
        match table.raw_get(elements.len() + 1)? {
            Value::Nil => break,
            element => elements.push(element),
        }
    }
    reply.array(elements.len());
    for element in &elements {
        append_value(reply, element, depth + 1)?;
    }
    Ok(())
}

/// The value of a complete reply in RESP2.
pub(super) fn read_reply(lua: &Lua, bytes: &[u8]) -> mlua::Result<Value> {
    let mut rest = bytes;
    read_one(lua, &mut rest)
}

fn read_one(lua: &Lua, rest: &mut &[u8]) -> mlua::Result<Value> {
    let broken = || mlua::Error::runtime("bug: a reply is cut off");
    let end = memchr::memchr(b'\r', rest).ok_or_else(broken)?;
    let (tag, line) = rest.get(..end).and_then(<[u8]>::split_first).ok_or_else(broken)?;
    let behind = rest.get(end + 2..).ok_or_else(broken)?;
    let number = || {
        std::str::from_utf8(line)
            .ok()
            .and_then(|text| text.parse::<i64>().ok())
            .ok_or_else(broken)
    };
    *rest = behind;
    match tag {
        b'+' | b'-' => {
            let table = lua.create_table()?;
            table.raw_set(if *tag == b'+' { "ok" } else { "err" }, lua.create_string(line)?)?;
            Ok(Value::Table(table))
        }
        // Integers of Lua 5.1 are doubles.
        b':' => Ok(Value::Number(number()? as f64)),
        b'$' => {
            let Ok(len) = usize::try_from(number()?) else {
                return Ok(Value::Boolean(false));
            };
            let text = behind.get(..len).ok_or_else(broken)?;
            *rest = behind.get(len + 2..).ok_or_else(broken)?;
            Ok(Value::String(lua.create_string(text)?))
        }
        b'*' => {
            let Ok(len) = usize::try_from(number()?) else {
                return Ok(Value::Boolean(false));
            };
            let table = lua.create_table()?;
            for place in 1..=len {
                table.raw_set(place, read_one(lua, rest)?)?;
            }
            Ok(Value::Table(table))
        }
        _ => Err(broken()),
    }
}
