//! One user, and the rules that make it.

use super::rules::in_category;
use super::{hash, hex};
use crate::commands::{self, Command};
use crate::glob;
use std::collections::BTreeSet;

/// What is done with a key, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Permission(u8);

impl Permission {
    pub(crate) const READ: Permission = Permission(1);
    pub(crate) const WRITE: Permission = Permission(2);
    pub(crate) const BOTH: Permission = Permission(3);

    fn covers(self, other: Permission) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A user.
#[derive(Clone, Debug)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) is_enabled: bool,
    /// Any password does.
    pub(crate) no_password: bool,
    pub(crate) passwords: BTreeSet<[u8; 32]>,
    /// By place in the table of commands.
    commands: Vec<bool>,
    /// The rules that led to `commands`, the first of them `+@all` or `-@all`.
    command_rules: Vec<String>,
    keys: Vec<(Permission, Vec<u8>)>,
    channels: Vec<Vec<u8>>,
    pub(crate) all_keys: bool,
    pub(crate) all_channels: bool,
    /// May everything.
    pub(crate) is_unrestricted: bool,
}

impl User {
    /// A user that may nothing.
    pub(crate) fn nothing(name: &str) -> User {
        User {
            name: name.to_owned(),
            is_enabled: false,
            no_password: false,
            passwords: BTreeSet::new(),
            commands: commands::all().map(|_| false).collect(),
            command_rules: vec!["-@all".to_owned()],
            keys: Vec::new(),
            channels: Vec::new(),
            all_keys: false,
            all_channels: false,
            is_unrestricted: false,
        }
    }

    /// A user without a password that may everything.
    pub(crate) fn everything(name: &str) -> User {
        let mut user = User::nothing(name);
        user.is_enabled = true;
        user.no_password = true;
        user.commands.fill(true);
        user.command_rules = vec!["+@all".to_owned()];
        user.all_keys = true;
        user.all_channels = true;
        user.is_unrestricted = true;
        user
    }

    pub(crate) fn may_run(&self, command: &'static Command) -> bool {
        self.commands[commands::place_of(command)]
    }

    pub(crate) fn may_use_key(&self, key: &[u8], permission: Permission) -> bool {
        self.all_keys
            || self
                .keys
                .iter()
                .any(|(granted, pattern)| granted.covers(permission) && glob::matches(pattern, key))
    }

    /// Whether it may use a channel; of a pattern to subscribe to, the very pattern must have been granted.
    pub(crate) fn may_use_channel(&self, channel: &[u8], is_pattern: bool) -> bool {
        self.all_channels
            || self.channels.iter().any(|granted| {
                if is_pattern {
                    granted == channel
                } else {
                    glob::matches(granted, channel)
                }
            })
    }

    /// Applies one rule of ACL SETUSER.
    pub(crate) fn apply(&mut self, rule: &str) -> Result<(), &'static str> {
        let result = self.apply_one(rule);
        self.is_unrestricted = self.all_keys && self.all_channels && self.commands.iter().all(|may| *may);
        result
    }

    fn apply_one(&mut self, rule: &str) -> Result<(), &'static str> {
        match rule.to_ascii_lowercase().as_str() {
            "on" => self.is_enabled = true,
            "off" => self.is_enabled = false,
            "nopass" => {
                self.no_password = true;
                self.passwords.clear();
            }
            "resetpass" => {
                self.no_password = false;
                self.passwords.clear();
            }
            "allkeys" => self.add_key(Permission::BOTH, b"*")?,
            "resetkeys" => {
                self.keys.clear();
                self.all_keys = false;
            }
            "allchannels" => self.add_channel(b"*")?,
            "resetchannels" => {
                self.channels.clear();
                self.all_channels = false;
            }
            "allcommands" => return self.apply_one("+@all"),
            "nocommands" => return self.apply_one("-@all"),
            // Payloads of RESTORE are always checked; there are no selectors.
            "sanitize-payload" | "skip-sanitize-payload" | "clearselectors" => {}
            "reset" => *self = User::nothing(&self.name),
            _ => return self.apply_with_argument(rule),
        }
        Ok(())
    }

    fn apply_with_argument(&mut self, rule: &str) -> Result<(), &'static str> {
        const SYNTAX: &str = "Syntax error";
        let (kind, argument) = rule.split_at_checked(1).ok_or(SYNTAX)?;
        match kind {
            ">" => {
                self.passwords.insert(hash(argument.as_bytes()));
                self.no_password = false;
            }
            "<" => {
                if !self.passwords.remove(&hash(argument.as_bytes())) {
                    return Err("The password you are trying to remove from the user does not exist");
                }
            }
            "#" => {
                self.passwords.insert(parse_hash(argument)?);
                self.no_password = false;
            }
            "!" => {
                if !self.passwords.remove(&parse_hash(argument)?) {
                    return Err("The password you are trying to remove from the user does not exist");
                }
            }
            "~" => self.add_key(Permission::BOTH, argument.as_bytes())?,
            "%" => {
                let (permissions, pattern) = argument.split_once('~').ok_or(SYNTAX)?;
                let permission = match permissions.to_ascii_uppercase().as_str() {
                    "R" => Permission::READ,
                    "W" => Permission::WRITE,
                    "RW" | "WR" => Permission::BOTH,
                    _ => return Err(SYNTAX),
                };
                self.add_key(permission, pattern.as_bytes())?;
            }
            "&" => self.add_channel(argument.as_bytes())?,
            "+" => self.allow(argument, true)?,
            "-" => self.allow(argument, false)?,
            "(" => return Err("selectors are not supported: give the user one list of rules"),
            _ => return Err(SYNTAX),
        }
        Ok(())
    }

    fn add_key(&mut self, permission: Permission, pattern: &[u8]) -> Result<(), &'static str> {
        if self.all_keys && pattern != b"*" {
            return Err(
                "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. \
                 Try 'resetkeys' to start with an empty list of patterns",
            );
        }
        if pattern == b"*" && permission == Permission::BOTH {
            self.all_keys = true;
            self.keys.clear();
        } else if !self.keys.iter().any(|(p, known)| *p == permission && known == pattern) {
            self.keys.push((permission, pattern.to_vec()));
        }
        Ok(())
    }

    fn add_channel(&mut self, pattern: &[u8]) -> Result<(), &'static str> {
        if self.all_channels && pattern != b"*" {
            return Err(
                "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. \
                 Try 'resetchannels' to start with an empty list of channels",
            );
        }
        if pattern == b"*" {
            self.all_channels = true;
            self.channels.clear();
        } else if !self.channels.iter().any(|known| known == pattern) {
            self.channels.push(pattern.to_vec());
        }
        Ok(())
    }

    fn allow(&mut self, name: &str, may: bool) -> Result<(), &'static str> {
        let name = name.to_ascii_lowercase();
        let chosen: Vec<bool> = if let Some(category) = name.strip_prefix('@') {
            commands::all()
                .map(|command| in_category(command, category).ok_or("Unknown command or category name in ACL"))
                .collect::<Result<_, _>>()?
        } else {
            let chosen: Vec<bool> = commands::all()
                .map(|command| command.name == name || command.name.split('|').next() == Some(name.as_str()))
                .collect();
            if !chosen.contains(&true) {
                return Err("Unknown command or category name in ACL");
            }
            chosen
        };
        for (command, is_chosen) in self.commands.iter_mut().zip(chosen) {
            if is_chosen {
                *command = may;
            }
        }
        let rule = format!("{}{name}", if may { '+' } else { '-' });
        if name == "@all" {
            self.command_rules.clear();
        } else {
            let opposite = &rule[1..];
            self.command_rules.retain(|known| &known[1..] != opposite);
        }
        self.command_rules.push(rule);
        Ok(())
    }

    /// `on`, `nopass` and the like.
    pub(crate) fn flags(&self) -> Vec<&'static str> {
        let mut flags = vec![if self.is_enabled { "on" } else { "off" }];
        if self.no_password {
            flags.push("nopass");
        }
        flags.push("sanitize-payload");
        flags
    }

    pub(crate) fn password_hashes(&self) -> Vec<String> {
        self.passwords.iter().map(|password| hex(password)).collect()
    }

    pub(crate) fn command_text(&self) -> String {
        self.command_rules.join(" ")
    }

    pub(crate) fn key_text(&self) -> String {
        if self.all_keys {
            return "~*".to_owned();
        }
        let patterns = self.keys.iter().map(|(permission, pattern)| {
            let prefix = match *permission {
                Permission::READ => "%R~",
                Permission::WRITE => "%W~",
                _ => "~",
            };
            format!("{prefix}{}", String::from_utf8_lossy(pattern))
        });
        patterns.collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn channel_text(&self) -> String {
        if self.all_channels {
            return "&*".to_owned();
        }
        let patterns = self
            .channels
            .iter()
            .map(|pattern| format!("&{}", String::from_utf8_lossy(pattern)));
        patterns.collect::<Vec<_>>().join(" ")
    }

    /// Its line in ACL LIST.
    pub(crate) fn line(&self) -> String {
        let mut words = vec!["user".to_owned(), self.name.clone()];
        words.extend(self.flags().iter().map(|flag| (*flag).to_owned()));
        words.extend(self.password_hashes().iter().map(|hash| format!("#{hash}")));
        let channels = self.channel_text();
        let channels = if channels.is_empty() {
            "resetchannels".to_owned()
        } else {
            channels
        };
        words.extend([self.key_text(), channels, self.command_text()]);
        words.retain(|word| !word.is_empty());
        words.join(" ")
    }
}

fn parse_hash(text: &str) -> Result<[u8; 32], &'static str> {
    const WRONG: &str =
        "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters";
    let mut hash = [0; 32];
    if text.len() != 64 || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return Err(WRONG);
    }
    for (byte, digits) in hash.iter_mut().zip(text.as_bytes().chunks(2)) {
        let digits = std::str::from_utf8(digits).map_err(|_| WRONG)?;
        *byte = u8::from_str_radix(digits, 16).map_err(|_| WRONG)?;
    }
    Ok(hash)
}
