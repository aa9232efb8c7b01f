//! Values as text, exact to the bit.

/// Writes a value: the shortest digits that read back as the same one, as JSON has numbers, and `NaN`, `Infinity`, `-Infinity`.
pub(super) fn text(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let mut text = format!("{value:?}");
    if text.ends_with(".0") {
        text.truncate(text.len() - 2);
    }
    text
}

/// Reads a value: a decimal number, or `nan`, `inf`, `infinity` in any case, with or without a sign.
pub(super) fn parse(text: &str) -> Option<f64> {
    let value: f64 = text.parse().ok()?;
    // All NaN are one: servers know neither their signs nor what else they hold. A number too large to be one is a mistake.
    let is_word = text.contains(|c: char| c.is_ascii_alphabetic() && !matches!(c, 'e' | 'E'));
    if value.is_nan() {
        Some(f64::NAN)
    } else if value.is_infinite() && !is_word {
        None
    } else {
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values() {
        let f = |value: f64, want: &str| {
            assert_eq!(text(value), want);
            assert_eq!(parse(want).map(f64::to_bits), Some(value.to_bits()), "{want}");
        };
        f(0.0, "0");
        f(-0.0, "-0");
        f(1.5, "1.5");
        f(-17.0, "-17");
        f(0.1, "0.1");
        f(1e300, "1e300");
        f(5e-324, "5e-324");
        f(1e16, "1e16");
        f(f64::MAX, "1.7976931348623157e308");
        f(f64::NAN, "NaN");
        f(f64::INFINITY, "Infinity");
        f(f64::NEG_INFINITY, "-Infinity");
    }

    #[test]
    fn texts_of_others() {
        let f =
            |text: &str, want: Option<f64>| assert_eq!(parse(text).map(f64::to_bits), want.map(f64::to_bits), "{text}");
        f("1E-1", Some(0.1));
        f("-nan", Some(f64::NAN));
        f("inf", Some(f64::INFINITY));
        f("+5", Some(5.0));
        f("", None);
        f("1,5", None);
        f(" 1", None);
        f("1e400", None);
        f("0x10", None);
    }

    proptest! {
        #[test]
        fn any_value_reads_back(bits: u64) {
            let value = f64::from_bits(bits);
            let back = parse(&text(value)).unwrap();
            prop_assert!(back.to_bits() == bits || (value.is_nan() && back.is_nan()));
        }
    }
}
