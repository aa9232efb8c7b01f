//! Configuration: one table, from which the flags of `serve`, the environment variables, the keys of the YAML file, the
//! output of `timberline config` and the reference in the README come.
//!
//! Order, the later winning: default, YAML file (`--config FILE`), environment (`TIMBERLINE_...`), flags.

mod settings;

use crate::Failure;
use crate::units::exact_bytes;
use anyhow::{Context, anyhow};
use clap::{Arg, ArgAction, ArgMatches, Command};
pub(crate) use settings::SETTINGS;
use settings::Setting;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// What the server runs with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Config {
    pub(crate) http: String,
    pub(crate) resp: Option<String>,
    pub(crate) resp_password: String,
    pub(crate) resp_fsync: String,
    pub(crate) series_max_memory: u64,
    pub(crate) rules: Option<PathBuf>,
    pub(crate) data: PathBuf,
    pub(crate) auth_required: bool,
    pub(crate) log_level: String,
    pub(crate) head_max_bytes: u64,
    pub(crate) head_max_age: Duration,
    pub(crate) max_unflushed_bytes: u64,
    pub(crate) max_request_bytes: u64,
    pub(crate) max_line_bytes: u64,
    pub(crate) max_streams_per_tenant: u64,
    pub(crate) max_entries_per_query: u64,
    pub(crate) max_series_per_query: u64,
    pub(crate) max_query_memory_bytes: u64,
    pub(crate) max_query_length: Duration,
    pub(crate) max_query_range: Duration,
    pub(crate) max_query_lookback: Duration,
    pub(crate) max_streams_matchers_per_query: u64,
    pub(crate) required_labels: Vec<String>,
    pub(crate) minimum_labels_number: u64,
    pub(crate) max_query_bytes_read: u64,
    pub(crate) max_concurrent_queries: u64,
    pub(crate) query_timeout: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            http: "127.0.0.1:3100".to_owned(),
            resp: Some("127.0.0.1:6379".to_owned()),
            resp_password: String::new(),
            resp_fsync: "everysec".to_owned(),
            series_max_memory: 0,
            rules: None,
            data: PathBuf::from("./timberline-data"),
            auth_required: false,
            log_level: "info".to_owned(),
            head_max_bytes: 64 << 20,
            head_max_age: Duration::from_secs(3600),
            max_unflushed_bytes: 256 << 20,
            max_request_bytes: 64 << 20,
            max_line_bytes: 1 << 20,
            max_streams_per_tenant: 200_000,
            max_entries_per_query: 50_000,
            max_series_per_query: 10_000,
            max_query_memory_bytes: 1 << 30,
            max_query_length: Duration::ZERO,
            max_query_range: Duration::ZERO,
            max_query_lookback: Duration::ZERO,
            max_streams_matchers_per_query: 1000,
            required_labels: Vec::new(),
            minimum_labels_number: 0,
            max_query_bytes_read: 0,
            max_concurrent_queries: 16,
            query_timeout: Duration::from_secs(60),
        }
    }
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Origin {
    /// The configuration file.
    File(PathBuf),
    /// An environment variable.
    Environment(String),
    /// A flag.
    Flag(String),
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(name) => f.write_str(name),
            Self::Flag(name) => f.write_str(name),
        }
    }
}

/// A request becomes one record of the log, and a line may become a page of an object, whose limit is 1 GiB.
const MAX_REQUEST_BYTES: u64 = 512 << 20;

/// The configuration and, for every setting that was given, where.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) config: Config,
    origins: BTreeMap<&'static str, Origin>,
}

impl Loaded {
    /// The settings that differ from their defaults, one `name=value (origin)` each, in the order of the table.
    pub(crate) fn changed(&self) -> Vec<String> {
        let defaults = Config::default();
        let differs = |s: &&Setting| (s.get)(&defaults) != (s.get)(&self.config);
        let line = |s: &Setting| match self.origins.get(s.name) {
            Some(origin) => format!("{}={} (from {origin})", s.name, (s.get)(&self.config)),
            None => format!("{}={}", s.name, (s.get)(&self.config)),
        };
        SETTINGS.iter().filter(differs).map(line).collect()
    }

    /// The whole configuration as a YAML file that gives the same one; the origins stand behind in comments.
    pub(crate) fn to_yaml(&self) -> String {
        let mut text = String::new();
        for setting in SETTINGS {
            let value = serde_yaml::to_string(&(setting.get)(&self.config)).unwrap_or_default();
            let origin = self
                .origins
                .get(setting.name)
                .map(|o| format!("  # from {o}"))
                .unwrap_or_default();
            text += &format!("{}: {}{origin}\n", setting.name, value.trim_end());
        }
        text
    }

    fn apply(&mut self, setting: &Setting, value: &str, origin: Origin) -> anyhow::Result<()> {
        (setting.set)(&mut self.config, value).map_err(|why| anyhow!("{} (from {origin}): {why}", setting.name))?;
        self.origins.insert(setting.name, origin);
        Ok(())
    }
}

/// Adds `--config` and one flag for each setting.
pub(crate) fn add_flags(mut command: Command) -> Command {
    command = command.arg(
        Arg::new("config")
            .long("config")
            .env("TIMBERLINE_CONFIG")
            .hide_env_values(true)
            .value_name("FILE")
            .value_parser(clap::value_parser!(PathBuf))
            .help("YAML file with settings; keys are the flags' names with _ for -"),
    );
    let defaults = Config::default();
    for setting in SETTINGS {
        let help = format!(
            "{} [default: {}] [env: {}]",
            setting.help,
            (setting.get)(&defaults),
            setting.variable()
        );
        let mut arg = Arg::new(setting.name).long(setting.flag).value_name(setting.value_name);
        if setting.value_name == "BOOL" {
            arg = arg.num_args(0..=1).require_equals(true).default_missing_value("true");
        }
        command = command.arg(arg.action(ArgAction::Set).help(help));
    }
    command
}

/// Puts the configuration together from file, environment and flags.
pub(crate) fn load(arguments: &ArgMatches, environment: impl Fn(&str) -> Option<String>) -> anyhow::Result<Loaded> {
    let mut loaded = Loaded {
        config: Config::default(),
        origins: BTreeMap::new(),
    };
    if let Some(path) = arguments.get_one::<PathBuf>("config") {
        let text = std::fs::read_to_string(path).with_context(|| format!("configuration file {}", path.display()))?;
        apply_file(&mut loaded, path, &text)?;
    }
    for setting in SETTINGS {
        if let Some(value) = environment(&setting.variable()) {
            loaded.apply(setting, &value, Origin::Environment(setting.variable()))?;
        }
    }
    for setting in SETTINGS {
        if let Some(value) = arguments.get_one::<String>(setting.name) {
            loaded.apply(setting, value, Origin::Flag(format!("--{}", setting.flag)))?;
        }
    }
    check(&loaded.config)?;
    Ok(loaded)
}

/// Refuses settings with which the server would start and then refuse, or fail at, what they allow.
fn check(config: &Config) -> anyhow::Result<()> {
    let at_most = |(name, value): (&str, u64), (limit_name, limit): (&str, u64)| {
        if value <= limit {
            return Ok(());
        }
        let (value, limit) = (exact_bytes(value), exact_bytes(limit));
        Err(anyhow!("{name}={value} is more than {limit_name}={limit}"))
    };
    let request = ("max_request_bytes", config.max_request_bytes);
    at_most(request, ("max_unflushed_bytes", config.max_unflushed_bytes))?;
    at_most(request, ("the largest possible value", MAX_REQUEST_BYTES))
}

fn apply_file(loaded: &mut Loaded, path: &Path, text: &str) -> anyhow::Result<()> {
    let file = path.display();
    let document: serde_yaml::Value =
        serde_yaml::from_str(text).with_context(|| format!("configuration file {file}"))?;
    let entries = match document {
        serde_yaml::Value::Null => return Ok(()),
        serde_yaml::Value::Mapping(entries) => entries,
        _ => {
            return Err(anyhow!(
                "configuration file {file} is not a list of \"name: value\" lines"
            ));
        }
    };
    for (key, value) in entries {
        let Some(name) = key.as_str() else {
            return Err(anyhow!("configuration file {file}: key {key:?} is not a name"));
        };
        let setting = SETTINGS.iter().find(|s| s.name == name);
        let setting = setting.ok_or_else(|| anyhow!("configuration file {file}: unknown setting {name:?}"))?;
        let value = match value {
            serde_yaml::Value::String(text) => text,
            serde_yaml::Value::Bool(flag) => flag.to_string(),
            serde_yaml::Value::Number(number) => number.to_string(),
            _ => return Err(anyhow!("configuration file {file}: {name} is not a single value")),
        };
        loaded.apply(setting, &value, Origin::File(path.to_owned()))?;
    }
    Ok(())
}

/// The reference of all settings as a Markdown table.
pub(crate) fn reference() -> String {
    let defaults = Config::default();
    let mut text = String::from("| Flag | Environment | YAML | Default | |\n|---|---|---|---|---|\n");
    for s in SETTINGS {
        let (flag, variable, default) = (s.flag, s.variable(), (s.get)(&defaults));
        let value = if s.value_name == "BOOL" {
            String::new()
        } else {
            format!(" {}", s.value_name)
        };
        text += &format!(
            "| `--{flag}{value}` | `{variable}` | `{}` | `{default}` | {} |\n",
            s.name, s.help
        );
    }
    text
}

/// Describes `timberline config`.
pub(crate) fn command() -> Command {
    let reference = Arg::new("reference").long("reference").action(ArgAction::SetTrue);
    let command = Command::new("config")
        .about("Print the configuration that `serve` would run with")
        .arg(reference.help("Print the table of all settings in Markdown instead"))
        .after_help(
            "The output is a YAML file that --config reads. Order, the later winning: default, file, environment, flags.\n\n\
             Examples:\n  timberline config\n  timberline config --config timberline.yaml --http 0.0.0.0:3100",
        );
    add_flags(command)
}

/// Does `timberline config`.
pub(crate) fn run(arguments: &ArgMatches) -> Result<ExitCode, Failure> {
    if arguments.get_flag("reference") {
        print!("{}", reference());
        return Ok(ExitCode::SUCCESS);
    }
    let loaded = load(arguments, |name| std::env::var(name).ok()).map_err(Failure::usage)?;
    print!("{}", loaded.to_yaml());
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load_from(yaml: Option<&str>, environment: &[(&str, &str)], flags: &[&str]) -> anyhow::Result<Loaded> {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut words = vec!["config".to_owned()];
        if let Some(yaml) = yaml {
            std::fs::write(file.path(), yaml).unwrap();
            words.push(format!("--config={}", file.path().display()));
        }
        words.extend(flags.iter().map(|f| (*f).to_owned()));
        let matches = command().try_get_matches_from(words)?;
        load(&matches, |name| {
            environment
                .iter()
                .find(|(n, _)| *n == name)
                .map(|(_, v)| (*v).to_owned())
        })
    }

    #[test]
    fn the_later_source_wins() {
        let yaml =
            "http: 0.0.0.0:1\ndata: /file\nhead_max_bytes: 1MiB\nmax_streams_per_tenant: 7\nauth_required: true\n";
        let environment = [
            ("TIMBERLINE_DATA", "/environment"),
            ("TIMBERLINE_HEAD_MAX_BYTES", "2MiB"),
        ];
        let loaded = load_from(Some(yaml), &environment, &["--head-max-bytes=3MiB"]).unwrap();
        let config = &loaded.config;
        assert_eq!(
            (config.http.as_str(), config.data.to_str()),
            ("0.0.0.0:1", Some("/environment"))
        );
        assert_eq!(
            (
                config.head_max_bytes,
                config.max_streams_per_tenant,
                config.auth_required
            ),
            (3 << 20, 7, true)
        );
        assert_eq!(loaded.changed().len(), 5);
        assert!(
            loaded
                .changed()
                .contains(&"head_max_bytes=3MiB (from --head-max-bytes)".to_owned())
        );
        let lists = load_from(Some("required_labels: app, env"), &[], &["--max-query-length=721h"]).unwrap();
        assert_eq!(lists.config.required_labels, ["app", "env"]);
        let again = load_from(Some(&lists.to_yaml()), &[], &[]).unwrap();
        assert_eq!(again.config, lists.config);
        let again = load_from(Some(&loaded.to_yaml()), &[], &[]).unwrap();
        assert_eq!(again.config, loaded.config);
    }

    #[test]
    fn nothing_given_is_the_default() {
        let loaded = load_from(None, &[], &[]).unwrap();
        assert_eq!(loaded.config, Config::default());
        assert_eq!(loaded.changed(), Vec::<String>::new());
        assert_eq!(load_from(Some(""), &[], &[]).unwrap().config, Config::default());
        assert!(load_from(None, &[], &["--auth-required"]).unwrap().config.auth_required);
        assert!(
            !load_from(None, &[], &["--auth-required=false"])
                .unwrap()
                .config
                .auth_required
        );
    }

    #[test]
    fn mistakes_are_named() {
        let f = |yaml: Option<&str>, environment: &[(&str, &str)], flags: &[&str], want: &str| {
            let error = load_from(yaml, environment, flags).unwrap_err();
            assert!(format!("{error:#}").contains(want), "{error:#}");
        };
        f(Some("htpp: x"), &[], &[], "unknown setting \"htpp\"");
        f(Some("- a"), &[], &[], "is not a list of");
        f(Some("http: [a]"), &[], &[], "http is not a single value");
        f(Some("head_max_bytes: much"), &[], &[], "head_max_bytes (from");
        f(
            None,
            &[("TIMBERLINE_QUERY_TIMEOUT", "soon")],
            &[],
            "query_timeout (from TIMBERLINE_QUERY_TIMEOUT): \"soon\"",
        );
        f(None, &[], &["--head-max-bytes=0"], "0 is not allowed");
        f(None, &[], &["--log-level=loud"], "none of error");
        f(
            None,
            &[],
            &["--required-labels=app,a-b"],
            "\"a-b\" is not the name of a label",
        );
        f(
            None,
            &[],
            &["--max-unflushed-bytes=63MiB"],
            "max_request_bytes=64MiB is more than max_unflushed_bytes=63MiB",
        );
        f(
            None,
            &[],
            &["--max-request-bytes=513MiB", "--max-unflushed-bytes=1GiB"],
            "max_request_bytes=513MiB is more than the largest possible value=512MiB",
        );
    }

    #[test]
    fn the_readme_holds_the_reference() {
        let readme = include_str!("../../../../README.md");
        assert!(
            readme.contains(&reference()),
            "put the output of `timberline config --reference` into README.md"
        );
    }
}
