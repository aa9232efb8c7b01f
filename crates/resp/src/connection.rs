//! One connection: reads what is there, runs the commands, sends their replies with one write, and waits.

use crate::client::Client;
use crate::commands::Command;
use crate::context::{Blocked, Compute, Wake};
use crate::dispatch::{BatchEnd, Executor};
use crate::protocol::Reply;
use crate::server::Server;
use crate::session::Session;
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::io::ErrorKind;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, Interest};
use tokio::net::TcpStream;

/// Room for one read.
const READ_BYTES: usize = 64 << 10;

/// Unsent replies beyond which no more commands are read. A client that sends a long pipeline before it reads must not be stuck, so
/// this is well above the replies of a hundred thousand writes.
const MAX_UNSENT_BYTES: usize = 32 << 20;

/// Input of a client that waits beyond which no more is read.
const MAX_WAITING_INPUT_BYTES: usize = 1 << 20;

/// Buffers of a size worth keeping, between the connections of a thread: an idle connection holds none.
const MAX_POOLED_BUFFERS: usize = 64;
const MAX_POOLED_BYTES: usize = 256 << 10;

thread_local! {
    static BUFFERS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

fn borrow_buffer() -> Vec<u8> {
    BUFFERS
        .with_borrow_mut(Vec::pop)
        .unwrap_or_else(|| Vec::with_capacity(READ_BYTES))
}

fn give_back(mut buffer: Vec<u8>) {
    if buffer.capacity() == 0 || buffer.capacity() > MAX_POOLED_BYTES {
        return;
    }
    buffer.clear();
    BUFFERS.with_borrow_mut(|buffers| {
        if buffers.len() < MAX_POOLED_BUFFERS {
            buffers.push(buffer);
        }
    });
}

/// Serves a connection until it ends.
pub(crate) async fn serve(server: Arc<Server>, stream: TcpStream) {
    server.stats.connections.add(1);
    let (Ok(address), Ok(local_address)) = (stream.peer_addr(), stream.local_addr()) else {
        return;
    };
    // Replies are small and awaited. A socket that can't be told so works too.
    let _ = stream.set_nodelay(true);
    let Some(client) = server
        .clients
        .enter(address, local_address, server.config.max_clients())
    else {
        server.stats.rejected_connections.add(1);
        // The client may be gone already.
        let _ = stream.try_write(b"-ERR max number of clients reached\r\n");
        return;
    };
    let session = Session::new(Arc::clone(&client), &server);
    let mut connection = Connection {
        client: Arc::clone(&client),
        executor: Executor::new(Arc::clone(&server), session),
        stream,
        output: Vec::new(),
        sent: 0,
        is_closing: false,
    };
    // An error is a client that is gone: there is nobody to tell.
    let _ = connection.run().await;
    let session = &mut connection.executor.session;
    session.unsubscribe_all(&server);
    session.discard(&server);
    server.clients.leave(client.id);
}

struct Connection {
    client: Arc<Client>,
    executor: Executor,
    stream: TcpStream,
    /// Replies and messages to send, and how much of them was sent.
    output: Vec<u8>,
    sent: usize,
    /// The connection ends when all is sent.
    is_closing: bool,
}

impl Connection {
    async fn run(&mut self) -> std::io::Result<()> {
        loop {
            let end = if self.is_closing { BatchEnd::Input } else { self.batch() };
            let has_more = matches!(end, BatchEnd::Output);
            match end {
                BatchEnd::Input | BatchEnd::Output => {}
                BatchEnd::Wait(duration) => {
                    self.commit().await;
                    self.send_now()?;
                    if !self.is_closing && !duration.is_zero() {
                        tokio::time::sleep(duration).await;
                    }
                    if self.client.is_killed() {
                        return Ok(());
                    }
                    continue;
                }
                BatchEnd::Compute(compute, command) => {
                    self.commit().await;
                    self.compute(compute, command).await;
                    continue;
                }
                BatchEnd::Block(blocked, command) => {
                    self.commit().await;
                    if !self.block(blocked, command).await? {
                        return Ok(());
                    }
                    continue;
                }
                BatchEnd::Close => self.is_closing = true,
            }
            self.commit().await;
            self.send_now()?;
            if self.is_closing && self.unsent() == 0 {
                return Ok(());
            }
            if has_more && self.unsent() < MAX_UNSENT_BYTES {
                // Others of this thread have their turn between batches.
                tokio::task::yield_now().await;
                continue;
            }
            if !self.wait_and_read().await? {
                return Ok(());
            }
        }
    }

    fn batch(&mut self) -> BatchEnd {
        if self.executor.reply.bytes_mut().capacity() == 0 {
            *self.executor.reply.bytes_mut() = borrow_buffer();
        }
        let end = self.executor.run();
        self.executor.compact();
        let relaxed = Ordering::Relaxed;
        let age = self.client.since.elapsed().as_millis() as u64;
        self.client.active_at.store(age, relaxed);
        self.client.input_bytes.store(self.executor.input.len(), relaxed);
        self.client.db.store(self.executor.session.db, relaxed);
        end
    }

    /// Waits until what was written is durable, where that was asked for, and takes over the replies.
    async fn commit(&mut self) {
        let sequence = std::mem::take(&mut self.executor.sequence);
        let durable = if sequence > 0 {
            crate::durability::wait(&self.executor.server, sequence).await
        } else {
            Ok(())
        };
        if let Err(error) = durable {
            // Nothing of the batch is acknowledged: which of it may be lost is not known.
            self.executor.reply.truncate(0);
            self.executor.reply.error(&format!(
                "MISCONF {error}. What was sent since the last reply may be lost."
            ));
            self.is_closing = true;
        }
        let reply = self.executor.reply.bytes_mut();
        if self.output.is_empty() {
            std::mem::swap(&mut self.output, reply);
        } else {
            self.output.extend_from_slice(reply);
        }
        reply.clear();
        self.client.drain(&mut self.output);
        self.client.output_bytes.store(self.unsent(), Ordering::Relaxed);
    }

    fn unsent(&self) -> usize {
        self.output.len() - self.sent
    }

    /// Sends what the socket takes at once.
    fn send_now(&mut self) -> std::io::Result<()> {
        while self.unsent() > 0 {
            match self.stream.try_write(&self.output[self.sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(len) => {
                    self.sent += len;
                    self.client.sent.fetch_add(len as u64, Ordering::Relaxed);
                    self.executor.server.stats.output_bytes.add(len as u64);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if self.unsent() == 0 {
            self.output.clear();
            self.sent = 0;
        } else if self.sent > MAX_UNSENT_BYTES {
            self.output.drain(..self.sent);
            self.sent = 0;
        }
        Ok(())
    }

    /// Waits for something to read, room to write, or a message, and reads. Says whether the connection goes on.
    async fn wait_and_read(&mut self) -> std::io::Result<bool> {
        if !self.is_closing && self.unsent() < MAX_UNSENT_BYTES {
            match self.read_now().await? {
                Read::Some => return Ok(true),
                Read::End => return Ok(false),
                Read::Nothing => {}
            }
        }
        self.rest();
        loop {
            let may_read = !self.is_closing && self.unsent() < MAX_UNSENT_BYTES;
            let interest = match (may_read, self.unsent() > 0) {
                (true, false) => Interest::READABLE,
                (true, true) => Interest::READABLE | Interest::WRITABLE,
                // Whoever does not read is waited for; that it closes shows in the write.
                (false, _) => Interest::WRITABLE,
            };
            let idle = self.executor.server.config.idle_timeout();
            let idle = idle.filter(|_| !self.executor.session.is_subscribed());
            tokio::select! {
                ready = self.stream.ready(interest) => {
                    let ready = ready?;
                    if ready.is_writable() && self.unsent() > 0 {
                        self.send_now()?;
                        if self.is_closing && self.unsent() == 0 {
                            return Ok(false);
                        }
                    }
                    if may_read && (ready.is_readable() || ready.is_read_closed()) {
                        match self.read_now().await? {
                            Read::Some => return Ok(true),
                            Read::Nothing => {}
                            Read::End => return Ok(false),
                        }
                    } else if self.unsent() < MAX_UNSENT_BYTES && !may_read && !self.is_closing {
                        return Ok(true);
                    }
                }
                () = self.client.notify.notified() => {
                    if self.client.is_killed() {
                        return Ok(false);
                    }
                    self.client.drain(&mut self.output);
                    self.send_now()?;
                }
                () = tokio::time::sleep(idle.unwrap_or_default()), if idle.is_some() => {
                    return Ok(false);
                }
            }
        }
    }

    /// Gives back buffers while there is nothing to do.
    fn rest(&mut self) {
        if self.executor.input.is_empty() {
            give_back(std::mem::take(&mut self.executor.input));
            self.executor.shrink();
        }
        give_back(std::mem::take(self.executor.reply.bytes_mut()));
        if self.output.is_empty() {
            give_back(std::mem::take(&mut self.output));
        }
    }

    /// Reads what is there, into memory that grows with what has come.
    async fn read_now(&mut self) -> std::io::Result<Read> {
        let missing = self.executor.missing_bytes();
        let input = &mut self.executor.input;
        if input.capacity() == 0 {
            *input = borrow_buffer();
        }
        // A long word is read with few reads, and its room is at most as large again as what has come.
        let room = missing.min(input.len()).max(READ_BYTES.min(input.capacity()).max(4096));
        input.reserve(room.min(missing.max(READ_BYTES)));
        // Polled once. After a read that did not fill its room the runtime knows that there is no more, and saves a call to the system.
        let stream = &mut self.stream;
        let polled = poll_fn(|task| Poll::Ready(pin!(stream.read_buf(input)).poll(task))).await;
        match polled {
            Poll::Pending => Ok(Read::Nothing),
            Poll::Ready(Ok(0)) => Ok(Read::End),
            Poll::Ready(Ok(len)) => {
                self.client.received.fetch_add(len as u64, Ordering::Relaxed);
                self.executor.server.stats.input_bytes.add(len as u64);
                Ok(Read::Some)
            }
            Poll::Ready(Err(error)) => Err(error),
        }
    }

    /// Computes a reply on a thread for work.
    async fn compute(&mut self, compute: Compute, command: &'static Command) {
        let protocol = self.executor.reply.protocol;
        let started = Instant::now();
        let work = tokio::task::spawn_blocking(move || {
            let mut reply = Reply::new(protocol);
            compute(&mut reply).map(|()| reply)
        });
        let server = &self.executor.server;
        let result = work.await;
        let place = crate::commands::place_of(command);
        server.stats.ran(place, 0, started.elapsed());
        match result {
            Ok(Ok(reply)) => self.output.extend_from_slice(reply.bytes()),
            Ok(Err(error)) => {
                server.stats.of_command(place).failed.add(1);
                server.stats.error(&error.0);
                self.executor.reply.error(&error.0);
                self.output.extend_from_slice(self.executor.reply.bytes());
                self.executor.reply.truncate(0);
            }
            Err(error) => {
                tracing::error!(%error, command = command.name, "a command panicked");
                self.is_closing = true;
            }
        }
    }

    /// Waits for what a command waits for. Says whether the connection goes on.
    async fn block(&mut self, mut blocked: Blocked, command: &'static Command) -> std::io::Result<bool> {
        let relaxed = Ordering::Relaxed;
        self.client.take_unblock();
        self.client.is_blocked.store(true, Ordering::Release);
        let goes_on = loop {
            self.send_now()?;
            // What it waits for may have happened between.
            if self.executor.look(&mut blocked, command, Wake::Event) {
                break true;
            }
            let timeout = blocked
                .deadline
                .map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if timeout.is_some_and(|timeout| timeout.is_zero()) {
                self.executor.look(&mut blocked, command, Wake::TimedOut);
                break true;
            }
            let may_read = self.executor.input.len() < MAX_WAITING_INPUT_BYTES;
            tokio::select! {
                () = self.client.notify.notified() => {
                    if self.client.is_killed() {
                        break false;
                    }
                    if let Some(how) = self.client.take_unblock() {
                        self.executor.unblock(&mut blocked, command, how);
                        break true;
                    }
                    self.client.drain(&mut self.output);
                }
                readable = self.stream.readable(), if may_read => {
                    readable?;
                    if self.read_now().await? == Read::End {
                        break false;
                    }
                }
                () = tokio::time::sleep(timeout.unwrap_or(Duration::MAX)), if timeout.is_some() => {}
            }
        };
        self.client.is_blocked.store(false, Ordering::Release);
        self.client.db.store(self.executor.session.db, relaxed);
        Ok(goes_on)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Read {
    Some,
    Nothing,
    End,
}
