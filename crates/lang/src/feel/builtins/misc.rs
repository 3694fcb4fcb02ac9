//! Negation, identity, and what helps with missing values and chance.

use travertine_value::Number;

use super::{
    super::{problem::Reason, value::FeelValue},
    Answer, Args, Entry, Fault,
};

pub(super) const FUNCTIONS: &[Entry] = &[
    ("not(negand)", not),
    ("is(value1?, value2?)", is),
    // Only reached through a variable that holds the function; then all that is left is the value.
    ("is defined(value)", |args| Ok((!args.value(0).is_null()).into())),
    ("get or else(value, default)", |args| Ok(args.given(0).unwrap_or_else(|| args.value(1)))),
    ("assert(value, condition, cause?)", assert),
    ("random number()", random_number),
    ("uuid()", uuid),
];

fn not(args: &mut Args<'_, '_, '_>) -> Answer {
    Ok((!args.boolean(0)?).into())
}

/// Whether values are equal and of one kind: a point in time also has to be meant in the same place.
fn is(args: &mut Args<'_, '_, '_>) -> Answer {
    Ok(match (args.value(0), args.value(1)) {
        (FeelValue::Time(a), FeelValue::Time(b)) => a == b,
        (FeelValue::DateTime(a), FeelValue::DateTime(b)) => a == b,
        (a, b) => {
            std::mem::discriminant(&a) == std::mem::discriminant(&b)
                && args.run.is_equal(&a, &b)? == Some(true)
        }
    }
    .into())
}

fn assert(args: &mut Args<'_, '_, '_>) -> Answer {
    if args.value(1).as_bool() == Some(true) {
        return Ok(args.value(0));
    }
    let cause = args.string(2).unwrap_or_else(|_| "the condition is not met".into());
    Err(Fault::argument(&*cause))
}

fn random(args: &mut Args<'_, '_, '_>) -> Result<u64, Fault> {
    let no_source = || Fault::Null(Reason::NoSource, "there is no randomness here".to_owned());
    args.run.session.next_random().ok_or_else(no_source)
}

/// From 0 up to but not including 1, with 15 digits.
fn random_number(args: &mut Args<'_, '_, '_>) -> Answer {
    const PARTS: u64 = 1_000_000_000_000_000;
    let part = Number::from(random(args)? % PARTS);
    Ok(part.checked_div(Number::from(PARTS))?.into())
}

/// Version 4.
fn uuid(args: &mut Args<'_, '_, '_>) -> Answer {
    let (high, low) = (random(args)?, random(args)?);
    let high = high & 0xffff_ffff_ffff_0fff | 0x4000;
    let low = low & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000;
    let digits = format!("{high:016x}{low:016x}");
    let groups = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    Ok(groups.join("-").into())
}
