//! When a value is the expected one.

use travertine_lang::feel::FeelValue;
use travertine_value::Number;

/// How far a number may be off where the case gives it with fewer digits.
const TOLERANCE: &str = "0.00000001";

/// Whether the value is the expected one: of the same kind and equal, in lists and contexts all
/// through. A number may differ from one with fewer decimals as much as the kit's own runner allows.
pub(super) fn is_as_expected(expected: &FeelValue, found: &FeelValue) -> bool {
    match (expected, found) {
        (FeelValue::Null, FeelValue::Null) => true,
        (FeelValue::Number(expected), FeelValue::Number(found)) => is_close(*expected, *found),
        (FeelValue::List(expected), FeelValue::List(found)) => {
            expected.len() == found.len()
                && expected.iter().zip(found.iter()).all(|(a, b)| is_as_expected(&a, &b))
        }
        (FeelValue::Context(expected), FeelValue::Context(found)) => {
            expected.len() == found.len()
                && expected.iter().all(|(name, value)| {
                    found.get(name).is_some_and(|it| is_as_expected(&value, &it))
                })
        }
        _ => expected.kind() == found.kind() && expected == found,
    }
}

fn is_close(expected: Number, found: Number) -> bool {
    if expected == found {
        return true;
    }
    let digits = |it: Number| it.to_string().chars().filter(char::is_ascii_digit).count();
    let tolerance: Number = TOLERANCE.parse().expect("it is a number");
    let distance = expected.checked_sub(found).map(Number::abs);
    digits(expected) < digits(found) && distance.is_ok_and(|it| it < tolerance)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> FeelValue {
        text.parse::<Number>().unwrap().into()
    }

    #[test]
    fn numbers_may_be_off_only_where_fewer_digits_are_expected() {
        assert!(is_as_expected(&number("1.0"), &number("1")));
        assert!(is_as_expected(&number("0.33333333"), &number("0.333333333333333333")));
        assert!(!is_as_expected(&number("0.3333"), &number("0.333333333333333333")));
        assert!(!is_as_expected(&number("0.333333333333333334"), &number("0.333333333333333333")));
    }

    #[test]
    fn a_text_is_not_what_it_says() {
        assert!(!is_as_expected(&"1".into(), &number("1")));
        assert!(!is_as_expected(&FeelValue::Null, &false.into()));
    }
}
