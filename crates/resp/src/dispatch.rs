// hot path: no locks shared between cores, no logging above debug, no allocation per command.
//! From the bytes of a client to its replies: finds the commands, checks whether they may run, runs them in order.

use crate::acl::{Permission, User};
use crate::client::{Client, Unblock};
use crate::commands::{self, Command, Group, flags};
use crate::context::{Blocked, CommandError, Compute, Context, Flow, Wake};
use crate::protocol::{Arguments, OwnedArguments, ProtocolError, Reply, RequestParser};
use crate::server::Server;
use crate::session::{ReplyMode, Session};
use crate::slowlog::{SlowCommand, shortened};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use timberline_series::engine::Access;

/// Replies of one batch beyond which they are sent before more commands run.
const MAX_BATCH_REPLY_BYTES: usize = 1 << 20;

/// Bytes of input of one connection, and what is made of them.
pub(crate) struct Executor {
    pub(crate) server: Arc<Server>,
    pub(crate) session: Session,
    pub(crate) input: Vec<u8>,
    /// How much of the input was taken.
    taken: usize,
    parser: RequestParser,
    /// Bytes of a command that was found and not run yet.
    found: Option<usize>,
    pub(crate) reply: Reply,
    /// The highest sequence number that this connection wrote to the journal since it last waited.
    pub(crate) sequence: u64,
}

/// Why a batch ended.
pub(crate) enum BatchEnd {
    /// The input holds no complete command.
    Input,
    /// There are many replies: they go first.
    Output,
    /// Commands have to wait: another one runs alone for long, or clients are paused.
    Wait(Duration),
    /// A reply is computed without the keyspace.
    Compute(Compute, &'static Command),
    /// The client waits for something.
    Block(Blocked, &'static Command),
    /// The connection ends when the replies are sent.
    Close,
}

impl Executor {
    pub(crate) fn new(server: Arc<Server>, session: Session) -> Executor {
        Executor {
            server,
            session,
            input: Vec::new(),
            taken: 0,
            parser: RequestParser::default(),
            found: None,
            reply: Reply::default(),
            sequence: 0,
        }
    }

    /// Forgets the input that was taken.
    pub(crate) fn compact(&mut self) {
        if self.taken == self.input.len() {
            self.input.clear();
        } else if self.taken > 0 {
            self.input.drain(..self.taken);
        }
        self.taken = 0;
    }

    /// How many more bytes the command in progress needs, as far as is known.
    pub(crate) fn missing_bytes(&self) -> usize {
        self.parser
            .expected_bytes()
            .saturating_sub(self.input.len() - self.taken)
    }

    /// Gives back the memory that large commands took.
    pub(crate) fn shrink(&mut self) {
        self.parser.shrink();
    }

    /// Runs the commands of the input in order, as far as it goes.
    pub(crate) fn run(&mut self) -> BatchEnd {
        let mut alone = false;
        loop {
            let command = match self.find() {
                Ok(Some(command)) => command,
                Ok(None) => return BatchEnd::Input,
                Err(error) => return self.refuse(&error),
            };
            if self.reply.len() > MAX_BATCH_REPLY_BYTES {
                return BatchEnd::Output;
            }
            if let Some(wait) = self.held_up(command) {
                return wait;
            }
            alone |= command.is_some_and(|command| command.has(flags::EXCLUSIVE)) && self.session.transaction.is_none()
                || command.is_some_and(|command| command.has(flags::EXCLUSIVE | flags::NEVER_QUEUED));
            let end = if alone {
                // Found by hand: other connections have to wait without holding up a thread while this takes long.
                let heavy = command.is_some_and(|command| command.has(flags::HEAVY));
                if heavy {
                    self.server.closed.fetch_add(1, Ordering::AcqRel);
                }
                let server = Arc::clone(&self.server);
                let end = without_holding_up(heavy, || self.run_under(&server.engine.exclusive(), command));
                if heavy {
                    server.closed.fetch_sub(1, Ordering::AcqRel);
                }
                end
            } else {
                let server = Arc::clone(&self.server);
                self.run_under(&server.engine.shared(), command)
            };
            match end {
                Step::Ended(end) => return end,
                Step::Alone => alone = true,
                Step::Next => alone = false,
            }
        }
    }

    /// Runs commands under one access: one command if it is exclusive, else as many as there are and may run so.
    fn run_under(&mut self, access: &Access<'_>, mut command: Option<&'static Command>) -> Step {
        let Executor {
            server,
            session,
            input,
            taken,
            parser,
            found,
            reply,
            sequence,
        } = self;
        let server: &Arc<Server> = server;
        let mut meter = Meter::new(server);
        // While the disk refuses the journal, nothing may be written.
        let may_write = server.engine.journal().check().is_ok();
        let mut context = Context::new(server, session, reply, access, &commands::UNKNOWN);
        let step = loop {
            let Some(len) = found.take() else {
                // The next command of the batch.
                let limits = server.config.limits(context.session.is_authenticated);
                match parser.next(&input[*taken..], &limits) {
                    Ok(Some(len)) => {
                        *found = Some(len);
                        command = commands::find_again(command, parser.arguments(&input[*taken..]));
                    }
                    Ok(None) => break Step::Ended(BatchEnd::Input),
                    Err(error) => break Step::Ended(refuse(context.reply, &error)),
                }
                if context.reply.len() > MAX_BATCH_REPLY_BYTES {
                    break Step::Ended(BatchEnd::Output);
                }
                if command.is_some_and(|command| command.has(flags::EXCLUSIVE)) || server.is_held_up() {
                    // Looked at anew without the access.
                    break Step::Next;
                }
                continue;
            };
            let words = parser.arguments(&input[*taken..]);
            if words.is_empty() {
                *taken += len;
                continue;
            }
            meter.switch(command);
            let before = context.reply.len();
            let outcome = if context.session.is_plain()
                && let Some(known) = command
                && known.takes(words.len())
                && may_write
                && !server.is_out_of_memory.load(Ordering::Relaxed)
            {
                context.command = known;
                invoke(&mut context, words)
            } else {
                checked(&mut context, command, words)
            };
            let flow = match outcome {
                Ok(Flow::Exclusive) => {
                    debug_assert!(!access.is_exclusive(), "bug: asked to run alone while alone");
                    *found = Some(len);
                    break Step::Alone;
                }
                Ok(flow) => {
                    meter.ran(words, context.session);
                    flow
                }
                Err(error) => {
                    meter.ran(words, context.session);
                    context.reply.truncate(before);
                    context.reply.error(&error.0);
                    server.stats.error(&error.0);
                    Flow::Done
                }
            };
            *taken += len;
            leave_out(context.session, context.reply, before);
            match flow {
                Flow::Done if access.is_exclusive() => break Step::Next,
                Flow::Done => {}
                Flow::Compute(compute) => break Step::Ended(BatchEnd::Compute(compute, context.command)),
                Flow::Block(blocked) => break Step::Ended(BatchEnd::Block(blocked, context.command)),
                Flow::Close => break Step::Ended(BatchEnd::Close),
                Flow::Exclusive => unreachable!("bug: handled above"),
            }
        };
        context.close_writer();
        drop(context);
        meter.flush();
        meter.tell(&session.client);
        *sequence = (*sequence).max(access.last_sequence());
        step
    }

    /// Looks for the next command of the input; nothing if it is not complete. An unknown command is found too.
    fn find(&mut self) -> Result<Option<Option<&'static Command>>, ProtocolError> {
        if self.found.is_none() {
            let limits = self.server.config.limits(self.session.is_authenticated);
            self.found = self.parser.next(&self.input[self.taken..], &limits)?;
        }
        if self.found.is_none() {
            return Ok(None);
        }
        Ok(Some(commands::find(self.parser.arguments(&self.input[self.taken..]))))
    }

    /// What to do while commands have to wait.
    fn held_up(&mut self, command: Option<&'static Command>) -> Option<BatchEnd> {
        if !self.server.is_held_up() {
            return None;
        }
        let words = self.parser.arguments(&self.input[self.taken..]);
        if self.server.closed.load(Ordering::Acquire) > 0 {
            let kills = command.is_some_and(|command| command.name == "script|kill");
            if !kills && !self.server.scripts.is_slow() {
                return Some(BatchEnd::Wait(Duration::from_millis(1)));
            }
            if kills {
                match self.server.scripts.kill() {
                    Ok(()) => self.reply.ok(),
                    Err(error) => self.reply.error(&error.0),
                }
            } else if !words.is_empty() {
                self.reply.error(crate::script::BUSY);
            }
            self.taken += self.found.take().unwrap_or(0);
            return Some(BatchEnd::Wait(Duration::ZERO));
        }
        let is_write = command
            .is_some_and(|command| command.has(flags::WRITE) || command.name == "exec" || command.name == "publish");
        let is_exempt = command.is_some_and(|command| command.name.starts_with("client|"));
        let until = self.server.pause.until(is_write).filter(|_| !is_exempt)?;
        let wait = until.saturating_duration_since(Instant::now());
        Some(BatchEnd::Wait(wait.min(Duration::from_millis(10))))
    }

    fn refuse(&mut self, error: &ProtocolError) -> BatchEnd {
        refuse(&mut self.reply, error)
    }

    /// Looks after a client that waits. Says whether the waiting is over.
    pub(crate) fn look(&mut self, blocked: &mut Blocked, command: &'static Command, wake: Wake) -> bool {
        let server = Arc::clone(&self.server);
        let access = server.engine.shared();
        let mut context = Context::new(&server, &mut self.session, &mut self.reply, &access, command);
        let before = context.reply.len();
        match (blocked.look)(&mut context, wake) {
            Ok(is_over) => is_over,
            Err(error) => {
                context.reply.truncate(before);
                context.reply.error(&error.0);
                server.stats.error(&error.0);
                true
            }
        }
    }

    /// Ends the waiting of a client as another one asked for it.
    pub(crate) fn unblock(&mut self, blocked: &mut Blocked, command: &'static Command, how: Unblock) {
        match how {
            Unblock::TimedOut => {
                self.look(blocked, command, Wake::TimedOut);
            }
            Unblock::Error => self.reply.error("UNBLOCKED client unblocked via CLIENT UNBLOCK"),
        }
    }
}

/// How the commands under one access went on.
enum Step {
    /// The next command needs another access.
    Next,
    /// The next command has to run alone.
    Alone,
    Ended(BatchEnd),
}

impl Server {
    /// Whether commands have to wait, perhaps.
    fn is_held_up(&self) -> bool {
        self.closed.load(Ordering::Acquire) > 0 || self.pause.until(true).is_some()
    }
}

/// Runs something that takes long where it does not hold up the other connections of this thread.
fn without_holding_up<R>(is_long: bool, run: impl FnOnce() -> R) -> R {
    let several_threads = || {
        tokio::runtime::Handle::try_current()
            .is_ok_and(|handle| handle.runtime_flavor() == tokio::runtime::RuntimeFlavor::MultiThread)
    };
    if is_long && several_threads() {
        tokio::task::block_in_place(run)
    } else {
        run()
    }
}

/// Runs a command that may run.
pub(crate) fn invoke(context: &mut Context<'_>, words: Arguments<'_>) -> Result<Flow, CommandError> {
    let command = context.command;
    if !command.has(flags::RUN) {
        context.close_writer();
    }
    let is_long = command.has(flags::HEAVY) && !context.nested && !context.access.is_exclusive();
    let result = without_holding_up(is_long, || (command.handler)(context, words));
    if result.is_err() {
        context
            .server
            .stats
            .of_command(commands::place_of(command))
            .failed
            .add(1);
    }
    match result {
        // What runs within another command is computed at once.
        Ok(Flow::Compute(compute)) if context.nested => compute(context.reply).map(|()| Flow::Done),
        other => other,
    }
}

/// Checks whether a command may run, in the peer's order, and runs or queues it.
fn checked(
    context: &mut Context<'_>,
    command: Option<&'static Command>,
    words: Arguments<'_>,
) -> Result<Flow, CommandError> {
    match admit(context, command, words) {
        Ok(command) => {
            context.command = command;
            if context.session.transaction.is_some() && !command.has(flags::NEVER_QUEUED) {
                queue(context, command, words)
            } else {
                invoke(context, words)
            }
        }
        Err(error) => {
            if let Some(command) = command {
                context
                    .server
                    .stats
                    .of_command(commands::place_of(command))
                    .rejected
                    .add(1);
            }
            // A transaction with a refused command is not run.
            context.session.break_transaction();
            Err(error)
        }
    }
}

fn queue(context: &mut Context<'_>, command: &'static Command, words: Arguments<'_>) -> Result<Flow, CommandError> {
    if !context.session.queue(command, OwnedArguments::from(words)) {
        return Err(CommandError::text("ERR the commands of the transaction are too large"));
    }
    context.session.publish_counts();
    context.reply.simple("QUEUED");
    Ok(Flow::Done)
}

/// Whether a command may run, and which one it is.
fn admit(
    context: &mut Context<'_>,
    command: Option<&'static Command>,
    words: Arguments<'_>,
) -> Result<&'static Command, CommandError> {
    let Some(command) = command else {
        return Err(unknown(context, words));
    };
    if !command.takes(words.len()) {
        return Err(CommandError::arity(command.name));
    }
    let server = context.server;
    let session = &mut *context.session;
    if session.user_version != server.acl.version() {
        refresh_user(server, session);
    }
    if !session.is_authenticated && !command.has(flags::NO_AUTH) {
        return Err(CommandError::text("NOAUTH Authentication required."));
    }
    check_permission(server, &session.user, command, words)?;
    if command.has(flags::DENYOOM) && server.is_out_of_memory.load(Ordering::Relaxed) {
        return Err(CommandError::text(
            "OOM command not allowed when used memory > 'maxmemory'.",
        ));
    }
    if command.has(flags::WRITE)
        && let Err(error) = server.engine.journal().check()
    {
        return Err(CommandError(
            format!("MISCONF {error}. Commands that write are refused until it can be.").into(),
        ));
    }
    if session.is_subscribed() && !context.reply.is_resp3() && !command.has(flags::SUBSCRIBED) {
        return Err(CommandError(
            format!(
                "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context",
                command.name
            )
            .into(),
        ));
    }
    if session.transaction.is_some() && command.has(flags::NO_MULTI) {
        return Err(CommandError::text("ERR Command not allowed inside a transaction"));
    }
    Ok(command)
}

/// The user of a session as it is now; who was removed or switched off has to log in again.
fn refresh_user(server: &Server, session: &mut Session) {
    session.user_version = server.acl.version();
    match server.acl.user(&session.user.name) {
        Some(user) => session.user = user,
        None => session.client.kill(),
    }
}

fn unknown(context: &Context<'_>, words: Arguments<'_>) -> CommandError {
    if !context.session.is_authenticated {
        return CommandError::text("NOAUTH Authentication required.");
    }
    if let Some(container) = commands::container(&words[0]) {
        return match words.get(1) {
            None => CommandError::arity(container.name),
            Some(sub) => CommandError(
                format!(
                    "ERR unknown subcommand '{}'. Try {} HELP.",
                    text(sub, 128),
                    container.name.to_ascii_uppercase()
                )
                .into(),
            ),
        };
    }
    let mut shown = String::new();
    for word in words.from(1).iter() {
        if shown.len() >= 128 {
            break;
        }
        shown.push_str(&format!("'{}' ", text(word, 128 - shown.len())));
    }
    CommandError(
        format!(
            "ERR unknown command '{}', with args beginning with: {shown}",
            text(&words[0], 128)
        )
        .into(),
    )
}

/// The beginning of a word as text.
fn text(word: &[u8], at_most: usize) -> String {
    String::from_utf8_lossy(word.get(..at_most).unwrap_or(word)).into_owned()
}

/// The error of a user who may not run a command on these keys and channels.
pub(crate) fn check_permission(
    server: &Server,
    user: &User,
    command: &'static Command,
    words: Arguments<'_>,
) -> Result<(), CommandError> {
    if user.is_unrestricted || command.has(flags::NO_AUTH) {
        return Ok(());
    }
    if !user.may_run(command) {
        server.stats.denied.add(1);
        return Err(CommandError(
            format!(
                "NOPERM User {} has no permissions to run the '{}' command",
                user.name, command.name
            )
            .into(),
        ));
    }
    let permission = match (command.has(flags::WRITE), command.has(flags::ACCESS)) {
        (true, true) => Permission::BOTH,
        (true, false) => Permission::WRITE,
        (false, _) => Permission::READ,
    };
    for place in command.keys.places(words) {
        if !user.may_use_key(&words[place], permission) {
            server.stats.denied.add(1);
            return Err(CommandError::text("NOPERM No permissions to access a key"));
        }
    }
    if command.group == Group::PubSub
        && let Some((channels, is_pattern)) = commands::channels(command, words)
    {
        for channel in channels.iter() {
            if !user.may_use_channel(channel, is_pattern) {
                server.stats.denied.add(1);
                return Err(CommandError::text("NOPERM No permissions to access a channel"));
            }
        }
    }
    Ok(())
}

fn refuse(reply: &mut Reply, error: &ProtocolError) -> BatchEnd {
    reply.error(&format!("ERR {error}"));
    BatchEnd::Close
}

/// Takes a reply back that the client did not want (CLIENT REPLY).
fn leave_out(session: &mut Session, reply: &mut Reply, before: usize) {
    match session.reply_mode {
        ReplyMode::On => {}
        ReplyMode::Off => reply.truncate(before),
        ReplyMode::SkipNext => {
            reply.truncate(before);
            session.reply_mode = ReplyMode::Skip;
        }
        ReplyMode::Skip => {
            reply.truncate(before);
            session.reply_mode = ReplyMode::On;
        }
    }
}

/// Takes the time of commands. Equal commands one after another are measured together: a clock costs as much as a tenth of TS.ADD.
struct Meter<'a> {
    server: &'a Server,
    command: Option<&'static Command>,
    calls: u64,
    all_calls: u64,
    since: Instant,
    slow_after: Option<Duration>,
}

impl<'a> Meter<'a> {
    fn new(server: &'a Server) -> Meter<'a> {
        Meter {
            server,
            command: None,
            calls: 0,
            all_calls: 0,
            since: Instant::now(),
            slow_after: server.config.slow_after(),
        }
    }

    fn switch(&mut self, command: Option<&'static Command>) {
        let is_same = match (self.command, command) {
            (Some(one), Some(other)) => std::ptr::eq(one, other),
            (None, None) => true,
            _ => false,
        };
        if !is_same {
            self.flush();
            self.command = command;
        }
    }

    /// Counts a command. One that is not among the fastest is looked at by itself: it may have been slow.
    fn ran(&mut self, words: Arguments<'_>, session: &Session) {
        self.calls += 1;
        let Some(command) = self.command else { return };
        if command.has(flags::RUN) {
            return;
        }
        let took = self.flush();
        if self.slow_after.is_some_and(|limit| took >= limit) && command.name != "exec" {
            self.remember(words, session, took);
        }
    }

    #[cold]
    fn remember(&self, words: Arguments<'_>, session: &Session, took: Duration) {
        let command = SlowCommand {
            number: 0,
            at_seconds: self.server.engine.now_ms() / 1000,
            took,
            words: shortened(words),
            address: session.client.address.to_string(),
            client_name: session.client.texts.lock().name.clone(),
        };
        self.server.slow_log.add(command, self.server.config.slow_log_len());
    }

    fn flush(&mut self) -> Duration {
        let now = Instant::now();
        let took = now - self.since;
        if let Some(command) = self.command
            && self.calls > 0
        {
            self.server.stats.ran(commands::place_of(command), self.calls, took);
        }
        self.since = now;
        self.all_calls += self.calls;
        self.calls = 0;
        took
    }

    /// What CLIENT LIST shows of the commands.
    fn tell(&self, client: &Client) {
        let relaxed = Ordering::Relaxed;
        if let Some(command) = self.command {
            client.last_command.store(commands::place_of(command) as u32, relaxed);
        }
        // Only the connection itself counts here.
        client
            .commands
            .store(client.commands.load(relaxed) + self.all_calls, relaxed);
    }
}
