//! Events: what is sent to functions while they run.

use std::time::Duration;

use serde::{Serialize, de::DeserializeOwned};
use travertine_kernel::Assignments;
pub use travertine_kernel::{Consume, Delivery};
use travertine_value::{Value, time::millis};

/// A type whose values can be sent to functions and waited for by them.
///
/// `#[derive(Event)]` writes this; by hand it is two lines.
///
/// ```
/// # use travertine_func as travertine;
/// use serde::{Deserialize, Serialize};
/// use travertine::{Event, EventConfig};
///
/// #[derive(Serialize, Deserialize)]
/// struct CancelOrder {
///     reason: String,
/// }
///
/// impl Event for CancelOrder {
///     const NAME: &'static str = "order.cancel";
///     const CONFIG: EventConfig = EventConfig::DEFAULT;
/// }
/// ```
pub trait Event: Serialize + DeserializeOwned + 'static {
    /// What others call it: the name of the message in a process.
    const NAME: &'static str;
    /// How it is delivered.
    const CONFIG: EventConfig = EventConfig::DEFAULT;
}

/// How events of one type are delivered. It is stored with each event that waits for a taker.
///
/// ```
/// # use travertine_func::{Consume, Delivery, EventConfig};
/// # use std::time::Duration;
/// // Everyone who waits gets it, and it is kept for a day.
/// let day = Duration::from_hours(24);
/// let news = EventConfig { consume: Consume::All, expire_after: Some(day), ..EventConfig::DEFAULT };
/// assert_eq!(news.delivery, Delivery::AfterCreate);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventConfig {
    /// Who takes it.
    pub consume: Consume,
    /// Who may see it.
    pub delivery: Delivery,
    /// How old it may become before it is forgotten; the engine's setting where none is given.
    pub expire_after: Option<Duration>,
}

const CONSUME: &str = "$consume";
const DELIVERY: &str = "$delivery";
const EXPIRE: &str = "$expireAfter";

impl EventConfig {
    /// One taker, which had begun when it was sent; no age of its own.
    pub const DEFAULT: Self =
        Self { consume: Consume::One, delivery: Delivery::AfterCreate, expire_after: None };

    /// What differs from the default, as properties that travel with a sent message. No receiver
    /// has such properties, so they do not disturb who matches.
    ///
    /// ```
    /// # use travertine_func as travertine;
    /// use travertine::{Consume, EventConfig};
    ///
    /// let config = EventConfig { consume: Consume::All, ..EventConfig::DEFAULT };
    /// assert_eq!(EventConfig::from_properties(&config.properties()), config);
    /// assert!(EventConfig::DEFAULT.properties().is_empty());
    /// ```
    pub fn properties(&self) -> Assignments {
        let mut properties = Assignments::new();
        match self.consume {
            Consume::One => {}
            Consume::All => properties.push((CONSUME.into(), Value::from("all"))),
        }
        match self.delivery {
            Delivery::AfterWait => properties.push((DELIVERY.into(), Value::from("after_wait"))),
            Delivery::AfterCreate => {}
            Delivery::All => properties.push((DELIVERY.into(), Value::from("all"))),
        }
        if let Some(age) = self.expire_after {
            properties.push((EXPIRE.into(), Value::from(millis(age))));
        }
        properties
    }

    /// Whether a property is one of these.
    #[doc(hidden)] // Only the engine tells these properties from others.
    pub fn is_property(name: &str) -> bool {
        [CONSUME, DELIVERY, EXPIRE].contains(&name)
    }

    /// What [`properties`](Self::properties) has written; the default for what is not there.
    ///
    /// ```
    /// # use travertine_func::EventConfig;
    /// assert_eq!(EventConfig::from_properties(&Vec::new()), EventConfig::DEFAULT);
    /// ```
    pub fn from_properties(properties: &Assignments) -> Self {
        let text = |name| find(properties, name).and_then(Value::as_str);
        let consume = if text(CONSUME) == Some("all") { Consume::All } else { Consume::One };
        let delivery = match text(DELIVERY) {
            Some("after_wait") => Delivery::AfterWait,
            Some("all") => Delivery::All,
            _ => Delivery::AfterCreate,
        };
        let age = find(properties, EXPIRE).and_then(Value::as_i64);
        let expire_after = age.and_then(|it| u64::try_from(it).ok()).map(Duration::from_millis);
        Self { consume, delivery, expire_after }
    }
}

impl Default for EventConfig {
    fn default() -> Self {
        Self::DEFAULT
    }
}

fn find<'a>(assignments: &'a Assignments, name: &str) -> Option<&'a Value> {
    assignments.iter().find(|(it, _)| &**it == name).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_travels_with_the_event() {
        for consume in [Consume::One, Consume::All] {
            for delivery in [Delivery::AfterWait, Delivery::AfterCreate, Delivery::All] {
                for expire_after in [None, Some(Duration::from_mins(1))] {
                    let config = EventConfig { consume, delivery, expire_after };
                    assert_eq!(EventConfig::from_properties(&config.properties()), config);
                }
            }
        }
    }
}
