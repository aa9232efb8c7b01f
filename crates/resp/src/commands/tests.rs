//! What must hold for every row of the table.

use super::{Keys, all, by_name, by_place, find, flags, place_of};
use crate::protocol::OwnedArguments;

fn words(text: &str) -> OwnedArguments {
    text.split(' ').map(str::as_bytes).collect()
}

#[test]
fn rows_are_sound() {
    for (place, command) in all().enumerate() {
        let name = command.name;
        assert_eq!(name, name.to_ascii_lowercase());
        assert_eq!(
            by_name(name.as_bytes()).map(|found| found.name),
            Some(name),
            "{name} stands in the table twice"
        );
        assert_eq!(place_of(command), place);
        assert_eq!(by_place(place as u32).map(|found| found.name), Some(name));
        assert_ne!(command.arity, 0, "{name}");
        assert!(!command.has(flags::WRITE | flags::READONLY), "{name}");
        assert!(command.summary.ends_with('.'), "{name}");
        if let Some((container, _)) = name.split_once('|') {
            assert!(
                by_name(container.as_bytes()).is_some_and(|found| found.has(flags::CONTAINER)),
                "{name}"
            );
        }
        if let Keys::Places { step, .. } = command.keys {
            assert!(step > 0, "{name}");
        }
    }
}

#[test]
fn commands_are_found_by_their_words() {
    let check = |text: &str, want: Option<&str>| {
        assert_eq!(find(words(text).borrow()).map(|command| command.name), want, "{text}");
    };
    check("GeT k", Some("get"));
    check("CONFIG", Some("config"));
    check("config Get x", Some("config|get"));
    check("config help", Some("config"));
    check("config nope", None);
    check("command", Some("command"));
    check("nope", None);
    check(&"x".repeat(1000), None);
}

#[test]
fn keys_are_found_among_the_words() {
    let check = |text: &str, want: &[usize]| {
        let words = words(text);
        let command = find(words.borrow()).expect("a command");
        assert_eq!(command.keys.places(words.borrow()).collect::<Vec<_>>(), want, "{text}");
    };
    check("get k", &[1]);
    check("del a b c", &[1, 2, 3]);
    check("mset a 1 b 2", &[1, 3]);
    check("rename a b", &[1, 2]);
    check("object encoding k", &[2]);
    check("eval x 2 a b c", &[3, 4]);
    check("eval x 5 a b c", &[]);
    check("eval x y a b c", &[]);
    check("blpop a b 0", &[1, 2]);
    check("ts.madd a 1 1 b 2 2", &[1, 4]);
    check("ts.nrange 2 a b - +", &[2, 3]);
    check("ping", &[]);
}
