//! Running one script.

use super::values::{append_value, read_reply};
use super::{RunningGuard, Scripts};
use crate::client::Client;
use crate::commands::{self, flags};
use crate::context::{CommandError, Context, Flow};
use crate::dispatch::{check_permission, invoke};
use crate::protocol::{Arguments, OwnedArguments, Protocol, Reply};
use mlua::{HookTriggers, Lua, LuaOptions, MultiValue, StdLib, Table, Value, VmState};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Memory of one script.
const MAX_SCRIPT_BYTES: usize = 256 << 20;

/// Instructions between two looks at whether the script is to end.
const INSTRUCTIONS_PER_LOOK: u32 = 10_000;

/// What is removed of the base library: ways to files, and what could load binary chunks.
const REMOVED: [&str; 7] = [
    "dofile",
    "loadfile",
    "load",
    "print",
    "require",
    "module",
    "collectgarbage",
];

/// Runs around the script: errors of commands are tables with the field `err`, which `redis.call` raises and `redis.pcall` returns.
/// New global variables are refused: a script that makes them by mistake would not notice.
const PRELUDE: &str = r#"
local raw, digest = ...
redis = { LOG_DEBUG = 0, LOG_VERBOSE = 1, LOG_NOTICE = 2, LOG_WARNING = 3 }
server = redis
redis.pcall = raw
redis.call = function(...)
    local reply = raw(...)
    if type(reply) == 'table' and reply.err ~= nil then error(reply, 2) end
    return reply
end
redis.error_reply = function(text)
    if type(text) ~= 'string' then return { err = 'ERR wrong number or type of arguments' } end
    if text:sub(1, 1) == '-' then text = text:sub(2) elseif not text:find(' ', 1, true) then text = 'ERR ' .. text end
    return { err = text }
end
redis.status_reply = function(text)
    if type(text) ~= 'string' then return { err = 'ERR wrong number or type of arguments' } end
    return { ok = text }
end
redis.sha1hex = digest
redis.log = function() end
redis.setresp = function(version)
    if version ~= 2 then error({ err = 'ERR scripts see the replies of RESP2 only' }, 2) end
end
redis.replicate_commands = function() return true end
redis.set_repl = function() end
redis.breakpoint = function() return false end
setmetatable(_G, {
    __newindex = function(_, name)
        error("Attempt to modify a readonly table: script tried to create the global variable '" .. tostring(name) .. "'", 2)
    end,
    __index = function(_, name)
        error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
    end,
})
"#;

/// Runs a script with keys and further words, and writes what it returns.
pub(crate) fn run(
    context: &mut Context<'_>,
    script: &[u8],
    keys: Arguments<'_>,
    further: Arguments<'_>,
    is_read_only: bool,
) -> Result<(), CommandError> {
    let server = Arc::clone(context.server);
    let guard = server.scripts.begin(server.config.script_limit());
    let digest = Scripts::digest(script);
    let (own, db, was_nested) = (context.command, context.session.db, context.nested);
    context.nested = true;
    let result = evaluate(context, &guard, script, keys, further, is_read_only);
    context.close_writer();
    context.command = own;
    context.session.db = db;
    context.nested = was_nested;
    let lua_failure = |error: &mlua::Error| {
        let text = error.to_string();
        // The first line is the message; a trace may follow.
        let first = text.lines().next().unwrap_or_default().to_owned();
        let message = first.strip_prefix("runtime error: ").unwrap_or(&first);
        CommandError(format!("ERR {message} script: {digest}, on @user_script.").into())
    };
    match result {
        Ok(Ok(reply)) => {
            context.reply.bytes_mut().extend_from_slice(reply.bytes());
            Ok(())
        }
        Ok(Err(error)) => Err(error),
        Err(_) if guard.running.is_killed.load(Ordering::Acquire) => Err(CommandError::text(
            "ERR Error running script: script killed by user with SCRIPT KILL.",
        )),
        Err(mlua::Error::SyntaxError { message, .. }) => Err(CommandError(
            format!("ERR Error compiling script (new function): {message} script: {digest}, on @user_script.").into(),
        )),
        Err(error) => Err(lua_failure(&error)),
    }
}

type Evaluated = mlua::Result<Result<Reply, CommandError>>;

fn evaluate(
    context: &mut Context<'_>,
    guard: &RunningGuard<'_>,
    script: &[u8],
    keys: Arguments<'_>,
    further: Arguments<'_>,
    is_read_only: bool,
) -> Evaluated {
    let lua = Lua::new_with(StdLib::TABLE | StdLib::STRING | StdLib::MATH, LuaOptions::default())?;
    lua.set_memory_limit(MAX_SCRIPT_BYTES)?;
    let globals = lua.globals();
    for name in REMOVED {
        globals.raw_set(name, Value::Nil)?;
    }
    if let Ok(strings) = globals.raw_get::<Table>("string") {
        // Binary chunks are not checked when they are loaded.
        strings.raw_set("dump", Value::Nil)?;
    }
    forbid_binary_chunks(&lua)?;
    for (name, words) in [("KEYS", keys), ("ARGV", further)] {
        let table = lua.create_table()?;
        for (place, word) in words.iter().enumerate() {
            table.raw_set(place + 1, lua.create_string(word)?)?;
        }
        globals.raw_set(name, table)?;
    }
    look_for_end(
        &lua,
        INSTRUCTIONS_PER_LOOK,
        Arc::clone(&guard.running.is_killed),
        Arc::clone(&context.session.client),
    )?;
    let protocol = context.reply.protocol;
    let context = RefCell::new(context);
    lua.scope(|scope| {
        let raw = scope.create_function(|lua, words: MultiValue| {
            let mut context = context
                .try_borrow_mut()
                .map_err(|_| mlua::Error::runtime("a command is running already"))?;
            call(lua, &mut context, guard, words, is_read_only)
        })?;
        let digest = lua.create_function(|_, text: mlua::String| Ok(Scripts::digest(&text.as_bytes())))?;
        lua.load(PRELUDE).set_name("=prelude").call::<()>((raw, digest))?;
        let function = lua
            .load(script)
            .set_name("=user_script")
            .set_mode(mlua::ChunkMode::Text)
            .into_function()?;
        // Caught within Lua, so that a table that is raised comes out as it is.
        let caught: mlua::Function = lua.globals().raw_get("pcall")?;
        let (is_fine, value): (bool, Value) = caught.call(function)?;
        if guard.running.is_killed.load(Ordering::Acquire) {
            return Err(mlua::Error::runtime("script killed by user with SCRIPT KILL"));
        }
        if !is_fine {
            return raised(&lua, value).map(Err);
        }
        let mut reply = Reply::new(protocol);
        append_value(&mut reply, &value, 0)?;
        Ok(Ok(reply))
    })
}

/// Ends the script now and then, if it is to end. A script may catch the error and go on, so from the first time on every instruction
/// fails, also those between two catches. The hook is a global one: coroutines have it too.
fn look_for_end(lua: &Lua, every: u32, is_killed: Arc<AtomicBool>, client: Arc<Client>) -> mlua::Result<()> {
    lua.set_global_hook(HookTriggers::new().every_nth_instruction(every), move |lua, _| {
        if !is_killed.load(Ordering::Acquire) && !client.is_killed() {
            return Ok(VmState::Continue);
        }
        is_killed.store(true, Ordering::Release);
        if every > 1 {
            look_for_end(lua, 1, Arc::clone(&is_killed), Arc::clone(&client))?;
        }
        Err(mlua::Error::runtime("script killed by user with SCRIPT KILL"))
    })
}

/// `loadstring` takes texts only: the checker of binary chunks is not to be trusted.
fn forbid_binary_chunks(lua: &Lua) -> mlua::Result<()> {
    lua.load(
        "local load = loadstring
         loadstring = function(text, name)
             if type(text) == 'string' and text:byte(1) == 27 then return nil, 'binary chunks are refused' end
             return load(text, name)
         end",
    )
    .exec()
}

/// The error reply for what a script raised.
fn raised(_: &Lua, value: Value) -> mlua::Result<CommandError> {
    match value {
        Value::Table(table) => match table.raw_get::<Option<mlua::String>>("err")? {
            Some(text) => Ok(CommandError(text.to_string_lossy().into())),
            None => Ok(CommandError::text("ERR unknown error of a script")),
        },
        Value::Error(error) => Err(*error),
        Value::String(text) => Err(mlua::Error::runtime(text.to_string_lossy())),
        other => Err(mlua::Error::runtime(format!("a {} was raised", other.type_name()))),
    }
}

/// Runs one command of a script.
fn call(
    lua: &Lua,
    context: &mut Context<'_>,
    guard: &RunningGuard<'_>,
    words: MultiValue,
    is_read_only: bool,
) -> mlua::Result<Value> {
    let mut owned = OwnedArguments::default();
    for word in words {
        let fits = match &word {
            Value::String(text) => owned.push(&text.as_bytes()),
            Value::Integer(number) => owned.push(number.to_string().as_bytes()),
            Value::Number(number) => owned.push(lua_number(*number).as_bytes()),
            _ => return failure(lua, "ERR Lua redis lib command arguments must be strings or integers"),
        };
        if !fits {
            return failure(lua, "ERR the arguments of a command are too large");
        }
    }
    let words = owned.borrow();
    if words.is_empty() {
        return failure(
            lua,
            "ERR Please specify at least one argument for this redis.call() call",
        );
    }
    let protocol = std::mem::replace(&mut context.reply.protocol, Protocol::Two);
    let before = context.reply.len();
    let result = admitted(context, words, is_read_only).and_then(|command| {
        if command.has(flags::WRITE) {
            guard.running.has_written.store(true, Ordering::Release);
        }
        context.command = command;
        let result = invoke(context, words);
        context.close_writer();
        context
            .server
            .stats
            .ran(commands::place_of(command), 1, std::time::Duration::ZERO);
        result
    });
    context.reply.protocol = protocol;
    let value = match result {
        Ok(Flow::Done | Flow::Close) => read_reply(lua, &context.reply.bytes()[before..]),
        Ok(Flow::Compute(_) | Flow::Block(_) | Flow::Exclusive) => {
            unreachable!("bug: {} waits within a script", context.command.name)
        }
        Err(error) => {
            context.server.stats.error(&error.0);
            failure(lua, &error.0)
        }
    };
    context.reply.truncate(before);
    value
}

/// The command, if it may run in a script.
fn admitted(
    context: &Context<'_>,
    words: Arguments<'_>,
    is_read_only: bool,
) -> Result<&'static commands::Command, CommandError> {
    let command = commands::find(words).ok_or(CommandError::text("ERR Unknown Redis command called from script"))?;
    if !command.takes(words.len()) {
        return Err(CommandError::text(
            "ERR Wrong number of args calling Redis command from script",
        ));
    }
    if command.has(flags::NOSCRIPT) {
        return Err(CommandError::text("ERR This Redis command is not allowed from script"));
    }
    if is_read_only && command.has(flags::WRITE) {
        return Err(CommandError::text(
            "ERR Write commands are not allowed from read-only scripts.",
        ));
    }
    if command.has(flags::DENYOOM) && context.server.is_out_of_memory.load(Ordering::Relaxed) {
        return Err(CommandError::text(
            "OOM command not allowed when used memory > 'maxmemory'.",
        ));
    }
    check_permission(context.server, &context.session.user, command, words)?;
    Ok(command)
}

/// A number as a word of a command: 17 digits are enough for every double.
fn lua_number(number: f64) -> String {
    if number == number.trunc() && number.abs() < 1e17 {
        format!("{number:.0}")
    } else {
        format!("{number}")
    }
}

fn failure(lua: &Lua, text: &str) -> mlua::Result<Value> {
    let table = lua.create_table()?;
    table.raw_set("err", text)?;
    Ok(Value::Table(table))
}
