//! The table of commands: every command, one row.

#[rustfmt::skip]
use super::{
    absent, access, clients, configuration, connection, documentation, expiry, information, keys, lists, messages, saving, scripts, server, strings,
    transactions, transfer, ts,
};
use super::flags::{
    ACCESS, ADMIN, BLOCKING, CONTAINER, DANGEROUS, DENYOOM, EXCLUSIVE, FAST, Flags, HEAVY, KEYSPACE, MOVABLE_KEYS,
    NEVER_QUEUED, NO_AUTH, NO_MULTI, NOSCRIPT, PUBSUB, READONLY, SUBSCRIBED, WRITE,
};
use super::{Command, Group, Handler, Keys};

/// All rows.
pub(super) const GROUPS: &[&[Command]] = &[
    ts::COMMANDS,
    CONNECTION,
    STRINGS,
    LISTS,
    KEYS,
    MESSAGES,
    TRANSACTIONS,
    SCRIPTS,
    SERVER,
    ABSENT,
];

const fn connection(name: &'static str, arity: i32, flags: Flags, summary: &'static str, handler: Handler) -> Command {
    Command::new(name, arity, flags, Keys::None, Group::Connection, summary, handler)
}

/// A command that must not be refused to a client that has not told who it is.
const ALWAYS: Flags = NO_AUTH | FAST;

#[rustfmt::skip]
const CONNECTION: &[Command] = &[
    connection("ping", -1, FAST | SUBSCRIBED, "Returns PONG, or its argument.", connection::ping),
    connection("echo", 2, FAST, "Returns its argument.", connection::echo),
    connection("quit", -1, ALWAYS | SUBSCRIBED | NEVER_QUEUED | NOSCRIPT, "Closes the connection.", connection::quit),
    connection("reset", 1, ALWAYS | SUBSCRIBED | NEVER_QUEUED | NOSCRIPT, "Brings the connection back to its first state.", connection::reset),
    connection("hello", -1, ALWAYS | NOSCRIPT, "Chooses the protocol, and logs in.", connection::hello),
    connection("auth", -2, ALWAYS | NOSCRIPT, "Logs in.", connection::auth),
    connection("select", 2, FAST, "Chooses the database.", connection::select),
    connection("readonly", 1, FAST, "Does nothing: there is no cluster.", server::ok),
    connection("readwrite", 1, FAST, "Does nothing: there is no cluster.", server::ok),
    connection("asking", 1, FAST, "Does nothing: there is no cluster.", server::ok),
    connection("client", -2, CONTAINER | NOSCRIPT, "Commands over connections.", documentation::help),
    connection("client|setname", 3, FAST | NOSCRIPT, "Names the connection.", clients::setname),
    connection("client|getname", 2, FAST | NOSCRIPT, "Returns the name of the connection.", clients::getname),
    connection("client|id", 2, FAST | NOSCRIPT, "Returns the number of the connection.", clients::id),
    connection("client|info", 2, NOSCRIPT, "Returns figures of the connection.", clients::info),
    connection("client|list", -2, ADMIN | NOSCRIPT, "Returns figures of all connections.", clients::list),
    connection("client|setinfo", 4, FAST | NOSCRIPT, "Tells the name and version of the client's library.", clients::setinfo),
    connection("client|no-evict", 3, ADMIN | NOSCRIPT, "Marks the connection: it is never closed for its memory.", clients::no_evict),
    connection("client|no-touch", 3, FAST | NOSCRIPT, "Marks the connection: its reads do not count as use.", clients::no_touch),
    connection("client|reply", 3, FAST | NOSCRIPT, "Leaves out replies.", clients::reply),
    connection("client|kill", -3, ADMIN | NOSCRIPT, "Closes connections.", clients::kill),
    connection("client|pause", -3, ADMIN | NOSCRIPT, "Lets commands wait.", clients::pause),
    connection("client|unpause", 2, ADMIN | NOSCRIPT, "Ends CLIENT PAUSE.", clients::unpause),
    connection("client|unblock", -3, ADMIN | NOSCRIPT, "Ends the waiting of a connection.", clients::unblock),
    connection("client|tracking", -3, NOSCRIPT, "Refused: what clients have read is not recorded.", clients::tracking),
    connection("client|trackinginfo", 2, NOSCRIPT, "Says that tracking is off.", clients::trackinginfo),
    connection("client|getredir", 2, NOSCRIPT, "Says that tracking is off.", clients::getredir),
];

const fn string(
    name: &'static str,
    arity: i32,
    flags: Flags,
    keys: Keys,
    summary: &'static str,
    handler: Handler,
) -> Command {
    Command::new(name, arity, flags, keys, Group::String, summary, handler)
}

const fn list(name: &'static str, arity: i32, flags: Flags, summary: &'static str, handler: Handler) -> Command {
    Command::new(name, arity, flags, Keys::FIRST, Group::List, summary, handler)
}

#[rustfmt::skip]
const LISTS: &[Command] = &[
    list("lpush", -3, WRITE | DENYOOM | FAST, "Puts elements in front of a list.", lists::lpush),
    list("rpush", -3, WRITE | DENYOOM | FAST, "Puts elements behind a list.", lists::rpush),
    list("lpop", -2, WRITE | FAST, "Takes elements from the front of a list.", lists::lpop),
    list("rpop", -2, WRITE | FAST, "Takes elements from the end of a list.", lists::rpop),
    list("llen", 2, READONLY | FAST, "Tells how long a list is.", lists::llen),
    list("lrange", 4, READONLY, "Returns elements of a list.", lists::lrange),
];

/// Every second word is a key.
const PAIRS: Keys = Keys::Places {
    first: 1,
    last: -1,
    step: 2,
};

#[rustfmt::skip]
const STRINGS: &[Command] = &[
    string("get", 2, READONLY | FAST, Keys::FIRST, "Returns a text.", strings::get),
    string("set", -3, WRITE | DENYOOM, Keys::FIRST, "Sets a text.", strings::set),
    string("setnx", 3, WRITE | DENYOOM | FAST, Keys::FIRST, "Sets a text if the key is free.", strings::setnx),
    string("setex", 4, WRITE | DENYOOM, Keys::FIRST, "Sets a text and how many seconds it lives.", strings::setex),
    string("psetex", 4, WRITE | DENYOOM, Keys::FIRST, "Sets a text and how many milliseconds it lives.", strings::psetex),
    string("getset", 3, WRITE | DENYOOM | FAST | ACCESS, Keys::FIRST, "Sets a text and returns the old one.", strings::getset),
    string("getdel", 2, WRITE | FAST | ACCESS, Keys::FIRST, "Returns a text and deletes the key.", strings::getdel),
    string("getex", -2, WRITE | FAST | ACCESS, Keys::FIRST, "Returns a text and sets how long it lives.", strings::getex),
    string("mget", -2, READONLY | FAST, Keys::ALL, "Returns several texts.", strings::mget),
    string("mset", -3, WRITE | DENYOOM | EXCLUSIVE, PAIRS, "Sets several texts at once.", strings::mset),
    string("msetnx", -3, WRITE | DENYOOM | EXCLUSIVE, PAIRS, "Sets several texts at once if all keys are free.", strings::msetnx),
    string("incr", 2, WRITE | DENYOOM | FAST | ACCESS, Keys::FIRST, "Adds one to a whole number.", strings::incr),
    string("decr", 2, WRITE | DENYOOM | FAST | ACCESS, Keys::FIRST, "Takes one from a whole number.", strings::decr),
    string("incrby", 3, WRITE | DENYOOM | FAST | ACCESS, Keys::FIRST, "Adds to a whole number.", strings::incrby),
    string("decrby", 3, WRITE | DENYOOM | FAST | ACCESS, Keys::FIRST, "Takes from a whole number.", strings::decrby),
    string("incrbyfloat", 3, WRITE | DENYOOM | FAST | ACCESS, Keys::FIRST, "Adds to a number.", strings::incrbyfloat),
    string("append", 3, WRITE | DENYOOM | FAST, Keys::FIRST, "Adds to the end of a text.", strings::append),
    string("strlen", 2, READONLY | FAST, Keys::FIRST, "Returns the length of a text.", strings::strlen),
    string("getrange", 4, READONLY, Keys::FIRST, "Returns a part of a text.", strings::getrange),
    string("substr", 4, READONLY, Keys::FIRST, "Returns a part of a text.", strings::getrange),
    string("setrange", 4, WRITE | DENYOOM, Keys::FIRST, "Overwrites a part of a text.", strings::setrange),
];

const fn key(
    name: &'static str,
    arity: i32,
    flags: Flags,
    keys: Keys,
    summary: &'static str,
    handler: Handler,
) -> Command {
    Command::new(name, arity, flags | KEYSPACE, keys, Group::Generic, summary, handler)
}

const SECOND: Keys = Keys::Places {
    first: 2,
    last: 2,
    step: 1,
};

#[rustfmt::skip]
const KEYS: &[Command] = &[
    key("del", -2, WRITE, Keys::ALL, "Deletes keys.", keys::del),
    key("unlink", -2, WRITE | FAST, Keys::ALL, "Deletes keys.", keys::del),
    key("exists", -2, READONLY | FAST, Keys::ALL, "Counts the keys that exist.", keys::exists),
    key("type", 2, READONLY | FAST, Keys::FIRST, "Returns what a key holds.", keys::type_of),
    key("keys", 2, READONLY | DANGEROUS | HEAVY, Keys::None, "Returns the keys that fit a pattern.", keys::keys),
    key("scan", -2, READONLY, Keys::None, "Returns keys step by step.", keys::scan),
    key("randomkey", 1, READONLY | HEAVY, Keys::None, "Returns any key.", keys::random_key),
    key("rename", 3, WRITE | EXCLUSIVE | ACCESS, Keys::FIRST_TWO, "Renames a key.", keys::rename),
    key("renamenx", 3, WRITE | EXCLUSIVE | FAST | ACCESS, Keys::FIRST_TWO, "Renames a key if the new name is free.", keys::renamenx),
    key("copy", -3, WRITE | DENYOOM | EXCLUSIVE | ACCESS, Keys::FIRST_TWO, "Copies a key.", transfer::copy),
    key("move", 3, WRITE | EXCLUSIVE | FAST | ACCESS, Keys::FIRST, "Moves a key to another database.", transfer::move_key),
    key("swapdb", 3, WRITE | EXCLUSIVE | FAST | DANGEROUS, Keys::None, "Exchanges two databases.", keys::swapdb),
    key("dump", 2, READONLY, Keys::FIRST, "Returns a key as bytes.", transfer::dump),
    key("restore", -4, WRITE | DENYOOM | EXCLUSIVE | DANGEROUS, Keys::FIRST, "Makes a key of what DUMP returned.", transfer::restore),
    key("touch", -2, READONLY | FAST, Keys::ALL, "Counts the keys that exist.", keys::touch),
    key("object", -2, CONTAINER, Keys::None, "Commands over how values are kept.", documentation::help),
    key("object|encoding", 3, READONLY, SECOND, "Returns how a value is kept.", keys::encoding),
    key("object|refcount", 3, READONLY, SECOND, "Returns 1.", keys::refcount),
    key("object|idletime", 3, READONLY, SECOND, "Returns 0: reads are not recorded.", keys::idletime),
    key("object|freq", 3, READONLY, SECOND, "Refused: reads are not recorded.", keys::freq),
    key("expire", -3, WRITE | FAST, Keys::FIRST, "Sets how many seconds a key lives.", expiry::expire),
    key("pexpire", -3, WRITE | FAST, Keys::FIRST, "Sets how many milliseconds a key lives.", expiry::pexpire),
    key("expireat", -3, WRITE | FAST, Keys::FIRST, "Sets until when a key lives, in seconds.", expiry::expireat),
    key("pexpireat", -3, WRITE | FAST, Keys::FIRST, "Sets until when a key lives, in milliseconds.", expiry::pexpireat),
    key("expiretime", 2, READONLY | FAST, Keys::FIRST, "Returns until when a key lives, in seconds.", expiry::expiretime),
    key("pexpiretime", 2, READONLY | FAST, Keys::FIRST, "Returns until when a key lives, in milliseconds.", expiry::pexpiretime),
    key("ttl", 2, READONLY | FAST, Keys::FIRST, "Returns how many seconds a key lives.", expiry::ttl),
    key("pttl", 2, READONLY | FAST, Keys::FIRST, "Returns how many milliseconds a key lives.", expiry::pttl),
    key("persist", 2, WRITE | FAST, Keys::FIRST, "Lets a key live for ever.", expiry::persist),
    key("flushdb", -1, WRITE | EXCLUSIVE | HEAVY | DANGEROUS, Keys::None, "Deletes all keys of the database.", keys::flushdb),
    key("flushall", -1, WRITE | EXCLUSIVE | HEAVY | DANGEROUS, Keys::None, "Deletes all keys.", keys::flushall),
    key("dbsize", 1, READONLY | FAST, Keys::None, "Counts the keys of the database.", keys::dbsize),
    key("wait", 3, BLOCKING, Keys::None, "Returns 0: there are no replicas.", server::wait),
    key("waitaof", 4, BLOCKING | HEAVY, Keys::None, "Waits until what was written is on the disk.", server::waitaof),
];

const fn message(name: &'static str, arity: i32, flags: Flags, summary: &'static str, handler: Handler) -> Command {
    Command::new(name, arity, flags | PUBSUB, Keys::None, Group::PubSub, summary, handler)
}

#[rustfmt::skip]
const MESSAGES: &[Command] = &[
    message("subscribe", -2, SUBSCRIBED | NOSCRIPT, "Listens to channels.", messages::subscribe),
    message("unsubscribe", -1, SUBSCRIBED | NOSCRIPT, "Ends SUBSCRIBE.", messages::unsubscribe),
    message("psubscribe", -2, SUBSCRIBED | NOSCRIPT, "Listens to the channels that fit patterns.", messages::psubscribe),
    message("punsubscribe", -1, SUBSCRIBED | NOSCRIPT, "Ends PSUBSCRIBE.", messages::punsubscribe),
    message("ssubscribe", -2, SUBSCRIBED | NOSCRIPT, "Listens to shard channels.", messages::ssubscribe),
    message("sunsubscribe", -1, SUBSCRIBED | NOSCRIPT, "Ends SSUBSCRIBE.", messages::sunsubscribe),
    message("publish", 3, FAST, "Sends a message to a channel.", messages::publish),
    message("spublish", 3, FAST, "Sends a message to a shard channel.", messages::spublish),
    message("pubsub", -2, CONTAINER, "Commands over channels.", documentation::help),
    message("pubsub|channels", -2, 0, "Returns the channels that somebody listens to.", messages::channels),
    message("pubsub|numsub", -2, 0, "Counts who listens to channels.", messages::numsub),
    message("pubsub|numpat", 2, 0, "Counts the patterns that somebody listens to.", messages::numpat),
    message("pubsub|shardchannels", -2, 0, "Returns the shard channels that somebody listens to.", messages::shard_channels),
    message("pubsub|shardnumsub", -2, 0, "Counts who listens to shard channels.", messages::shard_numsub),
];

const fn transaction(
    name: &'static str,
    arity: i32,
    flags: Flags,
    keys: Keys,
    summary: &'static str,
    handler: Handler,
) -> Command {
    Command::new(
        name,
        arity,
        flags | NOSCRIPT | NEVER_QUEUED,
        keys,
        Group::Transactions,
        summary,
        handler,
    )
}

#[rustfmt::skip]
const TRANSACTIONS: &[Command] = &[
    transaction("multi", 1, FAST, Keys::None, "Begins a transaction.", transactions::multi),
    transaction("exec", 1, EXCLUSIVE | HEAVY, Keys::None, "Runs a transaction.", transactions::exec),
    transaction("discard", 1, FAST, Keys::None, "Forgets a transaction.", transactions::discard),
    transaction("watch", -2, FAST, Keys::ALL, "Watches keys: EXEC does nothing once one was changed.", transactions::watch),
    Command::new("unwatch", 1, FAST | NOSCRIPT, Keys::None, Group::Transactions, "Ends WATCH.", transactions::unwatch),
];

const fn script(
    name: &'static str,
    arity: i32,
    flags: Flags,
    keys: Keys,
    summary: &'static str,
    handler: Handler,
) -> Command {
    Command::new(name, arity, flags | NOSCRIPT, keys, Group::Scripting, summary, handler)
}

/// Scripts run alone.
const RUNS: Flags = EXCLUSIVE | HEAVY | MOVABLE_KEYS;

#[rustfmt::skip]
const SCRIPTS: &[Command] = &[
    script("eval", -3, RUNS | ACCESS, Keys::Counted(2), "Runs a script.", scripts::eval),
    script("eval_ro", -3, RUNS | READONLY, Keys::Counted(2), "Runs a script that changes nothing.", scripts::eval),
    script("evalsha", -3, RUNS | ACCESS, Keys::Counted(2), "Runs a known script.", scripts::evalsha),
    script("evalsha_ro", -3, RUNS | READONLY, Keys::Counted(2), "Runs a known script that changes nothing.", scripts::evalsha),
    script("script", -2, CONTAINER, Keys::None, "Commands over scripts.", documentation::help),
    script("script|load", 3, 0, Keys::None, "Makes a script known.", scripts::load),
    script("script|exists", -3, 0, Keys::None, "Tells which scripts are known.", scripts::exists),
    script("script|flush", -2, 0, Keys::None, "Forgets all scripts.", scripts::flush),
    script("script|kill", 2, 0, Keys::None, "Ends the script that runs.", scripts::kill),
];

const fn server(name: &'static str, arity: i32, flags: Flags, summary: &'static str, handler: Handler) -> Command {
    Command::new(name, arity, flags, Keys::None, Group::Server, summary, handler)
}

#[rustfmt::skip]
const SERVER: &[Command] = &[
    server("command", -1, CONTAINER, "Returns the table of commands.", documentation::command),
    server("command|count", 2, 0, "Counts the commands.", documentation::count),
    server("command|info", -2, 0, "Returns rows of the table of commands.", documentation::info),
    server("command|docs", -2, 0, "Returns what commands do.", documentation::docs),
    server("command|list", -2, 0, "Returns the names of commands.", documentation::list),
    server("command|getkeys", -3, 0, "Returns the keys that a command names.", documentation::getkeys),
    server("command|getkeysandflags", -3, 0, "Returns the keys that a command names, and what it does with them.", documentation::getkeysandflags),
    server("info", -1, DANGEROUS | HEAVY, "Returns figures of the server.", information::info),
    server("role", 1, FAST | ADMIN, "Returns master.", information::role),
    server("time", 1, FAST, "Returns the time.", server::time),
    server("config", -2, CONTAINER | NOSCRIPT, "Commands over settings.", documentation::help),
    server("config|get", -3, ADMIN | NOSCRIPT, "Returns settings.", configuration::get),
    server("config|set", -4, ADMIN | NOSCRIPT, "Changes settings.", configuration::set),
    server("config|resetstat", 2, ADMIN | NOSCRIPT, "Sets counters to zero.", configuration::reset_statistics),
    server("config|rewrite", 2, ADMIN | NOSCRIPT, "Refused: the server does not write its settings.", configuration::rewrite),
    server("module", -2, CONTAINER | NOSCRIPT, "Commands over modules.", documentation::help),
    server("module|list", 2, ADMIN | NOSCRIPT, "Returns the modules that clients look for.", information::module_list),
    server("memory", -2, CONTAINER, "Commands over memory.", documentation::help),
    Command::new("memory|usage", -3, READONLY, SECOND, Group::Server, "Returns the bytes of memory that a key takes.", information::usage),
    server("memory|stats", 2, HEAVY, "Returns figures of the memory.", information::memory_stats),
    server("memory|doctor", 2, 0, "Returns advice on memory.", information::memory_doctor),
    server("memory|purge", 2, 0, "Does nothing: memory is given back by itself.", server::ok),
    server("slowlog", -2, CONTAINER, "Commands over slow commands.", documentation::help),
    server("slowlog|get", -2, ADMIN, "Returns the last slow commands.", server::slowlog_get),
    server("slowlog|len", 2, ADMIN, "Counts the slow commands that are kept.", server::slowlog_len),
    server("slowlog|reset", 2, ADMIN, "Forgets slow commands.", server::slowlog_reset),
    server("latency", -2, CONTAINER, "Commands over latencies.", documentation::help),
    server("latency|latest", 2, ADMIN | NOSCRIPT, "Returns nothing: latencies are not recorded.", server::latency_nothing),
    server("latency|history", 3, ADMIN | NOSCRIPT, "Returns nothing: latencies are not recorded.", server::latency_nothing),
    server("latency|histogram", -2, ADMIN | NOSCRIPT, "Returns nothing: latencies are not recorded.", server::latency_nothing),
    server("latency|reset", -2, ADMIN | NOSCRIPT, "Returns 0: latencies are not recorded.", server::latency_reset),
    server("latency|doctor", 2, ADMIN | NOSCRIPT, "Says where latencies are told.", server::latency_doctor),
    server("acl", -2, CONTAINER | NOSCRIPT, "Commands over users.", documentation::help),
    server("acl|whoami", 2, NOSCRIPT, "Returns the name of the user.", access::whoami),
    server("acl|list", 2, ADMIN | NOSCRIPT, "Returns all users.", access::list),
    server("acl|users", 2, ADMIN | NOSCRIPT, "Returns the names of all users.", access::users),
    server("acl|getuser", 3, ADMIN | NOSCRIPT, "Returns what a user may do.", access::getuser),
    server("acl|setuser", -3, ADMIN | NOSCRIPT, "Changes what a user may do.", access::setuser),
    server("acl|deluser", -3, ADMIN | NOSCRIPT, "Deletes users.", access::deluser),
    server("acl|cat", -2, NOSCRIPT, "Returns the categories of commands.", access::cat),
    server("acl|genpass", -2, NOSCRIPT, "Makes up a password.", access::genpass),
    server("acl|dryrun", -4, ADMIN | NOSCRIPT, "Tells whether a user may run a command.", access::dryrun),
    server("acl|log", -2, ADMIN | NOSCRIPT, "Returns nothing: refusals are counted only.", access::log),
    server("acl|load", 2, ADMIN | NOSCRIPT, "Refused: users are not kept in a file.", access::no_file),
    server("acl|save", 2, ADMIN | NOSCRIPT, "Refused: users are not kept in a file.", access::no_file),
    server("debug", -2, CONTAINER | NOSCRIPT, "Commands for tests.", documentation::help),
    server("debug|sleep", 3, ADMIN | NOSCRIPT | EXCLUSIVE | HEAVY, "Sleeps while no other command runs.", server::sleep),
    server("debug|set-active-expire", 3, ADMIN | NOSCRIPT, "Does nothing: expired keys are never seen.", server::ok),
    server("debug|jmap", -2, ADMIN | NOSCRIPT, "Does nothing.", server::ok),
    server("debug|reload", -2, ADMIN | NOSCRIPT | NO_MULTI, "Writes all keys into memory, forgets them, and reads them back.", saving::reload),
    server("save", 1, ADMIN | NOSCRIPT | NO_MULTI, "Takes a snapshot.", saving::save),
    server("bgsave", -1, ADMIN | NOSCRIPT, "Begins to take a snapshot.", saving::bgsave),
    server("bgrewriteaof", 1, ADMIN | NOSCRIPT, "Begins to take a snapshot, which shortens the journal.", saving::bgrewriteaof),
    server("lastsave", 1, FAST | ADMIN, "Returns when the last snapshot was taken.", saving::lastsave),
    server("shutdown", -1, ADMIN | NOSCRIPT | NO_MULTI, "Ends the server.", server::shutdown),
    server("cluster", -2, CONTAINER, "Commands over a cluster.", documentation::help),
    server("cluster|info", -2, 0, "Refused: there is no cluster.", absent::cluster),
    server("cluster|slots", -2, 0, "Refused: there is no cluster.", absent::cluster),
    server("cluster|shards", -2, 0, "Refused: there is no cluster.", absent::cluster),
    server("cluster|nodes", -2, 0, "Refused: there is no cluster.", absent::cluster),
    server("cluster|myid", -2, 0, "Refused: there is no cluster.", absent::cluster),
    server("cluster|keyslot", -2, 0, "Refused: there is no cluster.", absent::cluster),
    server("replicaof", 3, ADMIN | NOSCRIPT, "Refused: there are no replicas.", absent::replication),
    server("slaveof", 3, ADMIN | NOSCRIPT, "Refused: there are no replicas.", absent::replication),
    server("psync", -3, ADMIN | NOSCRIPT | NO_MULTI, "Refused: there are no replicas.", absent::replication),
    server("sync", 1, ADMIN | NOSCRIPT | NO_MULTI, "Refused: there are no replicas.", absent::replication),
    server("monitor", 1, ADMIN | NOSCRIPT, "Refused: commands are not told to others.", absent::monitor),
];

/// A command over a data type that this server does not have.
const fn absent(name: &'static str, arity: i32, flags: Flags, keys: Keys) -> Command {
    Command::new(
        name,
        arity,
        flags,
        keys,
        Group::Absent,
        "Refused: this server has time series, strings and plain lists only.",
        absent::data_type,
    )
}

const fn absent_read(name: &'static str, arity: i32) -> Command {
    absent(name, arity, READONLY, Keys::FIRST)
}

const fn absent_write(name: &'static str, arity: i32) -> Command {
    absent(name, arity, WRITE | DENYOOM, Keys::FIRST)
}

const ABSENT: &[Command] = &[
    // Lists.
    absent_write("lpushx", -3),
    absent_write("rpushx", -3),
    absent_read("lindex", 3),
    absent_write("lset", 4),
    absent_write("lrem", 4),
    absent_write("ltrim", 4),
    absent_write("linsert", 5),
    absent_read("lpos", -3),
    absent("lmove", 5, WRITE | DENYOOM, Keys::FIRST_TWO),
    absent("rpoplpush", 3, WRITE | DENYOOM, Keys::FIRST_TWO),
    absent(
        "blpop",
        -3,
        WRITE | BLOCKING,
        Keys::Places {
            first: 1,
            last: -2,
            step: 1,
        },
    ),
    absent(
        "brpop",
        -3,
        WRITE | BLOCKING,
        Keys::Places {
            first: 1,
            last: -2,
            step: 1,
        },
    ),
    // Sets.
    absent_write("sadd", -3),
    absent_write("srem", -3),
    absent_write("spop", -2),
    absent_read("scard", 2),
    absent_read("smembers", 2),
    absent_read("sismember", 3),
    absent_read("smismember", -3),
    absent_read("srandmember", -2),
    absent_read("sscan", -3),
    absent("smove", 4, WRITE, Keys::FIRST_TWO),
    absent("sinter", -2, READONLY, Keys::ALL),
    absent("sunion", -2, READONLY, Keys::ALL),
    absent("sdiff", -2, READONLY, Keys::ALL),
    // Hashes.
    absent_write("hset", -4),
    absent_write("hmset", -4),
    absent_write("hsetnx", 4),
    absent_read("hget", 3),
    absent_read("hmget", -3),
    absent_read("hgetall", 2),
    absent_write("hdel", -3),
    absent_read("hexists", 3),
    absent_read("hlen", 2),
    absent_read("hkeys", 2),
    absent_read("hvals", 2),
    absent_read("hstrlen", 3),
    absent_read("hscan", -3),
    absent_read("hrandfield", -2),
    absent_write("hincrby", 4),
    absent_write("hincrbyfloat", 4),
    // Sorted sets.
    absent_write("zadd", -4),
    absent_write("zrem", -3),
    absent_write("zincrby", 4),
    absent_read("zcard", 2),
    absent_read("zcount", 4),
    absent_read("zscore", 3),
    absent_read("zmscore", -3),
    absent_read("zrank", -3),
    absent_read("zrevrank", -3),
    absent_read("zrange", -4),
    absent_read("zrevrange", -4),
    absent_read("zrangebyscore", -4),
    absent_read("zrevrangebyscore", -4),
    absent_read("zrangebylex", -4),
    absent_read("zscan", -3),
    absent_write("zpopmin", -2),
    absent_write("zpopmax", -2),
    absent_write("zremrangebyscore", 4),
    absent_write("zremrangebyrank", 4),
    // Streams.
    absent_write("xadd", -5),
    absent_write("xdel", -3),
    absent_write("xtrim", -4),
    absent_read("xlen", 2),
    absent_read("xrange", -4),
    absent_read("xrevrange", -4),
    // Bits, sketches, places.
    absent_write("setbit", 4),
    absent_read("getbit", 3),
    absent_read("bitcount", -2),
    absent_read("bitpos", -3),
    absent_write("bitfield", -2),
    absent_write("pfadd", -2),
    absent("pfcount", -2, READONLY, Keys::ALL),
    absent_write("geoadd", -5),
    absent_read("geopos", -2),
    absent_read("geodist", -4),
    absent_read("geosearch", -7),
    // Sorting needs lists.
    absent_write("sort", -2),
    absent_read("sort_ro", -2),
];
