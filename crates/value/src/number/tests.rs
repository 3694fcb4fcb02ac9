//! What numbers keep to.

use std::hash::DefaultHasher;

use proptest::prelude::*;

use super::*;

fn number(text: &str) -> Number {
    text.parse().unwrap()
}

fn hash(number: Number) -> u64 {
    let mut hasher = DefaultHasher::new();
    number.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn numbers_print_plainly() {
    for (text, printed) in [
        ("0", "0"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("0e99999", "0"),
        ("007", "7"),
        ("1E+3", "1000"),
        ("1.50", "1.5"),
        (".5", "0.5"),
        ("-12.5e-3", "-0.0125"),
        ("1e30", "1000000000000000000000000000000"),
        ("9223372036854775808", "9223372036854775808"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("1234567890123456789012345678901234", "1234567890123456789012345678901234"),
        ("0.1234567890123456789012345678901234", "0.1234567890123456789012345678901234"),
        (
            "1000000000000000000000000000000000000000000",
            "1000000000000000000000000000000000000000000",
        ),
    ] {
        assert_eq!(number(text).to_string(), printed, "{text}");
    }
}

#[test]
fn roots_and_powers_have_34_correct_digits() {
    for (found, digits) in [
        (number("2").sqrt(), "1.414213562373095048801688724209698"),
        (number("16").sqrt(), "4"),
        (number("1").exp(), "2.718281828459045235360287471352662"),
        (number("10").ln(), "2.302585092994045684017991454684364"),
        (number("2").pow(number("0.5")), "1.414213562373095048801688724209698"),
        (number("1.5").pow(number("3")), "3.375"),
        (number("2").pow(number("100")), "1267650600228229401496703205376"),
        (number("5").pow(number("-2")), "0.04"),
        (number("0").pow(number("0")), "1"),
    ] {
        assert_eq!(found.unwrap().to_string(), digits);
    }
    for found in [
        number("-1").sqrt(),
        number("-1").ln(),
        number("0").ln(),
        number("1e9").exp(),
        number("10").pow(number("7000")),
        number("-8").pow(number("0.5")),
    ] {
        assert_eq!(found, Err(NumberError::OutOfRange));
    }
    assert_eq!(number("-1000000").exp(), Ok(Number::ZERO));
}

#[test]
fn long_numbers_can_be_read_rounded() {
    let rounded = Number::parse_rounded("12345678901234567890123456789012345").unwrap();
    assert_eq!(rounded.to_string(), "12345678901234567890123456789012340");
    assert_eq!(Number::parse_rounded("x"), Err(NumberError::Malformed));
    assert_eq!(number("1e20").to_i128(), Some(10_i128.pow(20)));
    assert_eq!(number("1.5").to_i128(), None);
    assert_eq!(number("1e40").to_i128(), None);
}

#[test]
fn a_number_that_would_be_rounded_is_refused() {
    let digits_35 = "12345678901234567890123456789012345";
    assert_eq!(digits_35.parse::<Number>(), Err(NumberError::TooManyDigits));
    assert_eq!(
        "0.12345678901234567890123456789012345".parse::<Number>(),
        Err(NumberError::TooManyDigits)
    );
    assert_eq!("1e7000".parse::<Number>(), Err(NumberError::OutOfRange));
    assert_eq!("1e-7000".parse::<Number>(), Err(NumberError::OutOfRange));
    assert_eq!("1e99999999999999999999".parse::<Number>(), Err(NumberError::OutOfRange));
}

#[test]
fn what_is_not_a_number_is_refused() {
    for text in [
        "", "-", "+1", "1.", ".", "e1", "1e", "1e+", "NaN", "Infinity", "inf", " 1", "0x10",
        "1_000", "--1", "1.2.3",
    ] {
        assert_eq!(text.parse::<Number>(), Err(NumberError::Malformed), "{text}");
    }
}

#[test]
fn equality_order_and_hash_go_by_value() {
    for (a, b) in
        [("1", "1.0"), ("1000", "1e3"), ("0.5", "0.50"), ("1e20", "100000000000000000000")]
    {
        assert_eq!(number(a), number(b));
        assert_eq!(hash(number(a)), hash(number(b)));
    }
    assert!(number("9223372036854775807") < number("9223372036854775807.5"));
    assert!(number("-1e30") < number("0.1"));
}

#[test]
fn decimal_fractions_are_exact() {
    assert_eq!(number("0.1").checked_add(number("0.2")), Ok(number("0.3")));
    assert_eq!(number("1.1").checked_mul(number("1.1")), Ok(number("1.21")));
    assert_eq!(number("1").checked_div(number("8")), Ok(number("0.125")));
    assert_eq!(
        number("1").checked_div(number("3")),
        Ok(number("0.3333333333333333333333333333333333"))
    );
    assert_eq!(number("-7").checked_rem(number("3")), Ok(number("-1")));
    assert_eq!(number("5.5").checked_rem(number("2")), Ok(number("1.5")));
}

#[test]
fn whole_numbers_grow_beyond_64_bits() {
    let most = Number::from(i64::MAX);
    assert_eq!(most.checked_add(1.into()), Ok(number("9223372036854775808")));
    assert_eq!(most.checked_add(1.into()).unwrap().checked_sub(1.into()), Ok(most));
    assert_eq!(Number::from(i64::MIN).negated(), number("9223372036854775808"));
    assert_eq!(Number::from(i64::MIN).negated().negated(), Number::from(i64::MIN));
    assert_eq!(Number::from(i64::MIN).checked_div((-1).into()), Ok(number("9223372036854775808")));
    assert_eq!(Number::from(u64::MAX).to_string(), u64::MAX.to_string());
}

#[test]
fn impossible_results_are_errors() {
    let huge = number("9e6144");
    assert_eq!(huge.checked_add(huge), Err(NumberError::OutOfRange));
    assert_eq!(huge.checked_mul(huge), Err(NumberError::OutOfRange));
    for zero_divided in ["0", "1", "0.5"] {
        assert_eq!(
            number(zero_divided).checked_div(Number::ZERO),
            Err(NumberError::DivisionByZero)
        );
        assert_eq!(
            number(zero_divided).checked_rem(Number::ZERO),
            Err(NumberError::DivisionByZero)
        );
    }
}

#[test]
fn rounding_goes_where_it_is_told() {
    for (text, places, rounding, rounded) in [
        ("2.5", 0, Rounding::HalfEven, "2"),
        ("2.5", 0, Rounding::HalfUp, "3"),
        ("-2.5", 0, Rounding::HalfUp, "-3"),
        ("2.5", 0, Rounding::HalfDown, "2"),
        ("-1.1", 0, Rounding::Floor, "-2"),
        ("-1.1", 0, Rounding::Ceiling, "-1"),
        ("1.234", 2, Rounding::Up, "1.24"),
        ("1.239", 2, Rounding::Down, "1.23"),
        ("1250", -2, Rounding::HalfEven, "1200"),
        ("0.1", 9999, Rounding::HalfEven, "0.1"),
        ("123", -9999, Rounding::HalfEven, "0"),
    ] {
        assert_eq!(number(text).round(places, rounding), Ok(number(rounded)), "{text}");
    }
}

#[test]
fn a_double_is_what_its_shortest_text_says() {
    for (double, text) in [
        (0.1, "0.1"),
        (-0.0, "0"),
        (1e21, "1000000000000000000000"),
        (9_007_199_254_740_993.0, "9007199254740992"),
        (1.5e-7, "0.00000015"),
    ] {
        assert_eq!(Number::from_f64(double).unwrap().to_string(), text);
    }
    for double in [f64::MAX, f64::MIN_POSITIVE, 5e-324] {
        assert!((Number::from_f64(double).unwrap().to_f64() - double).abs() == 0.0);
    }
    assert_eq!(Number::from_f64(f64::NAN), None);
    assert_eq!(Number::from_f64(f64::INFINITY), None);
}

/// Numbers around every edge: small and large, whole and broken.
fn any_number() -> impl Strategy<Value = Number> {
    prop_oneof![
        any::<i64>().prop_map(Number::from),
        (-1000_i64..1000).prop_map(Number::from),
        (any::<i64>(), -40_i32..20)
            .prop_map(|(digits, exponent)| number(&format!("{digits}e{exponent}"))),
    ]
}

proptest! {
    #[test]
    fn printing_and_reading_gives_the_same_number(a in any_number()) {
        prop_assert_eq!(number(&a.to_string()), a);
    }

    #[test]
    fn addition_and_multiplication_commute(a in any_number(), b in any_number()) {
        prop_assert_eq!(a.checked_add(b), b.checked_add(a));
        prop_assert_eq!(a.checked_mul(b), b.checked_mul(a));
    }

    #[test]
    fn the_order_is_that_of_the_difference(a in any_number(), b in any_number()) {
        prop_assert_eq!(a.cmp(&b), a.checked_sub(b).unwrap().cmp(&Number::ZERO));
    }

    #[test]
    fn whole_arithmetic_is_that_of_integers(a in any::<i64>(), b in any::<i64>()) {
        let (x, y) = (Number::from(a), Number::from(b));
        let text = |it: i128| number(&it.to_string());
        prop_assert_eq!(x.checked_add(y), Ok(text(i128::from(a) + i128::from(b))));
        prop_assert_eq!(x.checked_sub(y), Ok(text(i128::from(a) - i128::from(b))));
        if let Ok(product) = x.checked_mul(y) && (i128::from(a) * i128::from(b)).unsigned_abs() < 10_u128.pow(34) {
            prop_assert_eq!(product, text(i128::from(a) * i128::from(b)));
        }
        if b != 0 {
            prop_assert_eq!(x.checked_rem(y), Ok(text(i128::from(a) % i128::from(b))));
        }
    }

    #[test]
    fn equal_numbers_have_equal_hashes(digits in -100_000_i64..100_000, zeros in 0_usize..10) {
        let plain = Number::from(digits);
        let padded = number(&format!("{digits}.{:0<zeros$}0", ""));
        prop_assert_eq!(plain, padded);
        prop_assert_eq!(hash(plain), hash(padded));
    }

    #[test]
    fn doubles_survive(double in any::<f64>()) {
        if let Some(number) = Number::from_f64(double) {
            prop_assert!((number.to_f64() - double).abs() == 0.0);
        }
    }
}
