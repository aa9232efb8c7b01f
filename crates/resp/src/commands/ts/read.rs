//! TS.READ (specification, chapter 13).

use super::numbers;
use super::query::{Planned, answer, is_heavy};
use super::refusal::{self, Refusal};
use super::replies::{self, RowShape};
use crate::context::{Blocked, Context, Flow, Wake};
use crate::protocol::{Arguments, Reply};
use crate::watch::KeyWaker;
use std::sync::Arc;
use std::time::{Duration, Instant};
use timberline_series::error::KeyError;
use timberline_series::range::{RangeQuery, Rows};
use timberline_series::series::{Reach, Series, Subscription};
use timberline_series::view::ReadError;

/// Which samples are asked for.
#[derive(Clone, Copy)]
struct Asked {
    /// The lowest timestamp; none if no timestamp is high enough.
    from: Option<i64>,
    max_count: Option<u64>,
}

#[derive(Default)]
struct Options {
    block: Option<Block>,
    max_count: Option<u64>,
}

/// BLOCK: how long to wait for how many samples; zero milliseconds are for ever.
#[derive(Clone, Copy)]
struct Block {
    milliseconds: u64,
    min_count: u64,
}

pub(super) fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<Flow, Refusal> {
    let (Some(key), Some(cursor)) = (arguments.get(1), arguments.get(2)) else {
        return Err(Refusal::Arity);
    };
    if !matches!(cursor, b"-" | b"+" | b"$") && numbers::unsigned(cursor).is_none() {
        return Err(refusal::READ_TIMESTAMP);
    }
    let options = options(arguments)?;
    let series = find(context, context.db(), key)?;
    let asked = Asked {
        from: from(cursor, series.as_deref())?,
        max_count: options.max_count,
    };
    let Some(block) = options.block else {
        return Ok(asked.answer(series.as_deref(), context.reply)?);
    };
    let mut waiting = Waiting {
        db: context.db(),
        key: key.into(),
        asked,
        min_count: block.min_count,
        subscription: None,
        key_waker: None,
        series,
    };
    // Subscribed before the look, so that no sample comes in between unseen.
    waiting.subscribe(context);
    if waiting.is_over(context)? {
        return Ok(asked.answer(waiting.living_series(), context.reply)?);
    }
    if context.nested {
        return Err(refusal::READ_BLOCKING);
    }
    let time = Duration::from_millis(block.milliseconds);
    Ok(Flow::Block(Blocked {
        // A time that the clock can't hold is for ever.
        deadline: (block.milliseconds > 0)
            .then(|| Instant::now().checked_add(time))
            .flatten(),
        look: Box::new(move |context, wake| {
            let looked = waiting.is_over(context).map_err(|refusal| refusal.of(context.command));
            let over = looked? || wake == Wake::TimedOut;
            if over {
                let rows = asked.rows(waiting.living_series())?;
                replies::rows(context.reply, &rows, RowShape::Flat);
            }
            Ok(over)
        }),
    }))
}

/// The series of a key, if there is one.
fn find(context: &Context<'_>, db: u8, key: &[u8]) -> Result<Option<Arc<Series>>, Refusal> {
    match context.access.series(db, key) {
        Ok(series) => Ok(Some(series)),
        Err(KeyError::Missing) => Ok(None),
        Err(KeyError::WrongType) => Err(refusal::WRONG_TYPE_OF_READ),
    }
}

/// The words after the cursor.
fn options(arguments: Arguments<'_>) -> Result<Options, Refusal> {
    let mut options = Options::default();
    let mut at = 3;
    while let Some(word) = arguments.get(at) {
        if word.eq_ignore_ascii_case(b"BLOCK") {
            let (Some(milliseconds), Some(min_count)) = (arguments.get(at + 1), arguments.get(at + 2)) else {
                return Err(Refusal::Arity);
            };
            let milliseconds = numbers::integer(milliseconds).and_then(|number| u64::try_from(number).ok());
            options.block = Some(Block {
                milliseconds: milliseconds.ok_or(refusal::READ_BLOCK)?,
                min_count: positive(min_count).ok_or(refusal::READ_MIN_COUNT)?,
            });
            at += 3;
        } else if word.eq_ignore_ascii_case(b"MAX_COUNT") {
            let count = arguments.get(at + 1).ok_or(Refusal::Arity)?;
            options.max_count = Some(positive(count).ok_or(refusal::READ_MAX_COUNT)?);
            at += 2;
        } else {
            return Err(Refusal::Arity);
        }
    }
    match (options.block, options.max_count) {
        (Some(block), Some(max_count)) if block.min_count > max_count => Err(refusal::READ_COUNTS),
        _ => Ok(options),
    }
}

fn positive(text: &[u8]) -> Option<u64> {
    let number = u64::try_from(numbers::integer(text)?).ok()?;
    (number > 0).then_some(number)
}

/// The lowest timestamp that a cursor lets pass, fixed now.
fn from(cursor: &[u8], series: Option<&Series>) -> Result<Option<i64>, ReadError> {
    let newest = || match series {
        Some(series) => series.last(false),
        None => Ok(None),
    };
    Ok(match cursor {
        b"-" => Some(0),
        b"+" => Some(newest()?.map_or(0, |sample| sample.timestamp)),
        b"$" => match newest()? {
            Some(sample) => sample.timestamp.checked_add(1),
            None => Some(0),
        },
        number => numbers::unsigned(number),
    })
}

impl Asked {
    fn plan(&self, series: Option<&Series>, count: Option<u64>) -> Result<Option<Planned>, ReadError> {
        let (Some(series), Some(from)) = (series, self.from) else {
            return Ok(None);
        };
        Ok(Some(Planned {
            view: series.view(from, i64::MAX, Reach::Inside, false)?,
            query: RangeQuery {
                from,
                to: i64::MAX,
                timestamps: None,
                values: None,
                aggregation: None,
                count,
                reverse: false,
            },
        }))
    }

    fn answer(&self, series: Option<&Series>, reply: &mut Reply) -> Result<Flow, ReadError> {
        let Some(planned) = self.plan(series, self.max_count)? else {
            reply.array(0);
            return Ok(Flow::Done);
        };
        answer(reply, is_heavy([&planned]), move |reply| {
            replies::rows(reply, &planned.rows()?, RowShape::Flat);
            Ok(())
        })
    }

    fn rows(&self, series: Option<&Series>) -> Result<Rows, ReadError> {
        match self.plan(series, self.max_count)? {
            Some(planned) => planned.rows(),
            None => Ok(Rows::default()),
        }
    }
}

/// A client that waits for samples.
struct Waiting {
    db: u8,
    key: Box<[u8]>,
    /// The series; none while the key is missing.
    series: Option<Arc<Series>>,
    asked: Asked,
    min_count: u64,
    subscription: Option<Subscription>,
    /// Looks after the key while it is missing.
    key_waker: Option<KeyWaker>,
}

impl Waiting {
    /// Whether there is enough, or the key is gone. A key that was missing is looked up again.
    fn is_over(&mut self, context: &Context<'_>) -> Result<bool, Refusal> {
        match &self.series {
            Some(series) if !series.is_alive() => return Ok(true),
            Some(_) => {}
            None => {
                self.series = find(context, self.db, &self.key)?;
                if self.series.is_some() {
                    self.subscribe(context);
                }
            }
        }
        Ok(self.has_enough()?)
    }

    /// The series, if its key is not gone.
    fn living_series(&self) -> Option<&Series> {
        self.series.as_deref().filter(|series| series.is_alive())
    }

    fn subscribe(&mut self, context: &Context<'_>) {
        let waker = context.session.waker();
        match &self.series {
            Some(series) => {
                self.subscription = Some(series.subscribe(waker));
                self.key_waker = None;
            }
            None => self.key_waker = Some(KeyWaker::new(context.server, self.db, &self.key, waker)),
        }
    }

    fn has_enough(&self) -> Result<bool, ReadError> {
        match self.asked.plan(self.series.as_deref(), Some(self.min_count))? {
            Some(planned) => Ok(planned.rows()?.len() as u64 >= self.min_count),
            None => Ok(false),
        }
    }
}
