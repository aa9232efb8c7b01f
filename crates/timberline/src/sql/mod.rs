//! `timberline sql`: asks a server with SQL.

mod output;

use crate::{Failure, client};
use anyhow::anyhow;
use clap::{Arg, ArgMatches, Command};
use std::io::{self, Read, Write};
use std::process::ExitCode;

/// Exit code if the answer has no rows, as `query` has it.
const EXIT_NOTHING: u8 = 1;

/// Describes `timberline sql`.
pub(crate) fn command() -> Command {
    let command = Command::new("sql")
        .about("Ask for samples and log lines with SQL")
        .arg(
            Arg::new("sql")
                .value_name("SQL")
                .required(true)
                .help("One statement that reads; - reads it from standard input"),
        )
        .arg(
            Arg::new("output")
                .long("output")
                .short('o')
                .value_name("FORM")
                .default_value("table")
                .value_parser(["table", "csv", "jsonl"])
                .help("Form of the output"),
        )
        .after_help(
            "\
Tables: series (db, key, timestamp, value, labels) has a row for each sample of the time-series store, logs (timestamp, line,
labels, metadata) one for each log line of the tenant. One label: labels['app']. SHOW TABLES and DESCRIBE tell the same. Times
are UTC. Statements that change anything are refused.

Exit codes: 0 there are rows; 1 there are none; 2 usage or a mistake in the statement; 3 the server can't be reached or fails.

Examples:
  timberline sql \"SELECT * FROM series WHERE key = 'temperature' ORDER BY timestamp DESC LIMIT 10\"
  timberline sql \"SELECT labels['app'] AS app, count(*) FROM logs WHERE timestamp > now() - INTERVAL '1 hour' GROUP BY app\"
  timberline sql \"SELECT date_bin(INTERVAL '5 minutes', timestamp) AS t, avg(value) FROM series GROUP BY t ORDER BY t\" -o csv",
        );
    client::add_flags(command)
}

/// Does `timberline sql`.
pub(crate) fn run(arguments: &ArgMatches) -> Result<ExitCode, Failure> {
    let text = |name: &str| arguments.get_one::<String>(name).map_or("", String::as_str);
    let mut sql = text("sql").to_owned();
    if sql == "-" {
        sql.clear();
        io::stdin().read_to_string(&mut sql)?;
    }
    let client = client::Client::from_flags(arguments).map_err(Failure::usage)?;
    let form = text("output");
    // A table is made of what CSV says: there the columns have an order.
    let format = if form == "jsonl" { "jsonl" } else { "csv" };
    let reply = client.ask(
        "/timberline/api/v1/sql",
        &[("query", sql), ("format", format.to_owned())],
    )?;
    match reply.status {
        200 => {}
        404 => {
            let text = "the server answers no SQL: it is no Timberline, or an older one";
            return Err(Failure::failed(anyhow!(text)));
        }
        400..500 => return Err(Failure::usage(anyhow!("{}", reply.text()))),
        status => {
            return Err(Failure::failed(anyhow!(
                "the server answers {status}: {}",
                reply.text()
            )));
        }
    }
    let mut out = io::stdout().lock();
    match form {
        "table" => output::write_table(&reply.body, &mut out)?,
        _ => out.write_all(&reply.body)?,
    }
    out.flush()?;
    let rows = output::has_rows(&reply.body, format == "csv");
    Ok(if rows {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(EXIT_NOTHING)
    })
}
