//! Numbers: rounding and arithmetic.

use travertine_value::{Number, Rounding};

use super::{
    super::{
        temporal::{DaysDuration, YearsDuration},
        value::FeelValue,
    },
    Answer, Args, Entry, Fault,
    args::wrong,
};

pub(super) const FUNCTIONS: &[Entry] = &[
    ("decimal(n, scale)", |args| rounded(args, Rounding::HalfEven)),
    ("floor(n, scale?)", |args| rounded(args, Rounding::Floor)),
    ("ceiling(n, scale?)", |args| rounded(args, Rounding::Ceiling)),
    ("round up(n, scale)", |args| rounded(args, Rounding::Up)),
    ("round down(n, scale)", |args| rounded(args, Rounding::Down)),
    ("round half up(n, scale)", |args| rounded(args, Rounding::HalfUp)),
    ("round half down(n, scale)", |args| rounded(args, Rounding::HalfDown)),
    ("abs(n)", abs),
    ("modulo(dividend, divisor)", modulo),
    ("sqrt(number)", sqrt),
    ("log(number)", log),
    ("exp(number)", exp),
    ("odd(number)", |args| parity(args, true)),
    ("even(number)", |args| parity(args, false)),
];

/// The digits that a number can have after the point, on either side.
const SCALE_MIN: i64 = -6111;
const SCALE_MAX: i64 = 6176;

fn rounded(args: &mut Args<'_, '_, '_>, rounding: Rounding) -> Answer {
    let number = args.number(0)?;
    let scale = if args.is_given(1) { args.integer(1)? } else { 0 };
    if !(SCALE_MIN..=SCALE_MAX).contains(&scale) {
        return Err(Fault::argument(format!("the scale is out of range: {scale}")));
    }
    let scale = i32::try_from(scale).expect("it is in range");
    Ok(number.round(scale, rounding)?.into())
}

fn abs(args: &mut Args<'_, '_, '_>) -> Answer {
    match args.value(0).unwrap_singleton() {
        FeelValue::Number(it) => Ok(it.abs().into()),
        FeelValue::DaysDuration(it) => Ok(DaysDuration::from_nanos(it.nanos().abs()).into()),
        FeelValue::YearsDuration(it) => {
            Ok(it.months().checked_abs().map(YearsDuration::from_months).into())
        }
        other => Err(wrong(&other, "a number or a duration")),
    }
}

/// The remainder has the sign of the divisor.
fn modulo(args: &mut Args<'_, '_, '_>) -> Answer {
    let (dividend, divisor) = (args.number(0)?, args.number(1)?);
    let remainder = dividend.checked_rem(divisor)?;
    let differs = remainder != Number::ZERO && remainder.is_negative() != divisor.is_negative();
    Ok(if differs { remainder.checked_add(divisor)? } else { remainder }.into())
}

fn sqrt(args: &mut Args<'_, '_, '_>) -> Answer {
    let number = args.number(0)?;
    if number.is_negative() {
        return Err(Fault::argument("a negative number has no square root"));
    }
    Ok(number.sqrt()?.into())
}

fn log(args: &mut Args<'_, '_, '_>) -> Answer {
    let number = args.number(0)?;
    if number <= Number::ZERO {
        return Err(Fault::argument("only a positive number has a logarithm"));
    }
    Ok(number.ln()?.into())
}

fn exp(args: &mut Args<'_, '_, '_>) -> Answer {
    Ok(args.number(0)?.exp()?.into())
}

fn parity(args: &mut Args<'_, '_, '_>, is_odd: bool) -> Answer {
    let number = args.number(0)?;
    if !number.is_whole() {
        return Err(Fault::argument(format!("not a whole number: {number}")));
    }
    let remainder = number.checked_rem(2.into())?;
    Ok(((remainder != Number::ZERO) == is_odd).into())
}
