//! `travertine access`: who may log in to the server of a store, and what they may do.

use std::{
    fs,
    io::{self, BufRead as _, IsTerminal as _},
    path::Path,
};

use anyhow::{Context as _, Result, bail};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use travertine_runtime::Timestamp;
use travertine_server::{AccountError, Accounts, Grant, Role, Subject};
use travertine_value::{Name, Value};

use crate::{
    args::access::{
        Access, Act, AuditArgs, Granting, GroupAct, KeyAct, KeyAdd, Listing, Members, RoleAct,
        UserAct, UserAdd,
    },
    json, place,
    screen::Screen,
    serve::ACCOUNTS,
    status::Status,
    store::grid::{self, Cell},
};

pub(crate) fn access(args: &Access, out: &Screen, err: &Screen) -> Result<Status> {
    match &args.act {
        Act::User(act) => user(act, out, err)?,
        Act::Group(act) => group(act, out)?,
        Act::Key(act) => key(act, out)?,
        Act::Role(RoleAct::List(args)) => roles(args, out),
        Act::Role(RoleAct::Give(args)) => {
            change(args, out, "granted to", |all, grant, by| all.grant(&args.who, grant, by))?;
        }
        Act::Role(RoleAct::Take(args)) => {
            change(args, out, "taken from", |all, grant, by| all.revoke(&args.who, grant, by))?;
        }
        Act::Bindings(args) => bindings(args, out)?,
        Act::Audit(args) => audit(args, out)?,
    }
    Ok(Status::Done)
}

/// The accounts of a store, which need not be there yet.
fn open(data: &Path) -> Result<Accounts> {
    place::check(data)?;
    let data = place::local_made(data)
        .and_then(|it| fs::create_dir_all(&it).map(|()| it))
        .with_context(|| format!("cannot make the directory of {}", data.display()))?;
    Ok(Accounts::open(&data.join(ACCOUNTS))?)
}

/// Who changes something, as the audit names them: the user of this machine.
fn by() -> String {
    let name = ["LOGNAME", "USER"].into_iter().find_map(|it| std::env::var(it).ok());
    format!(
        "{} (at the terminal)",
        name.filter(|it| !it.is_empty()).as_deref().unwrap_or("somebody")
    )
}

fn user(act: &UserAct, out: &Screen, err: &Screen) -> Result<()> {
    match act {
        UserAct::List(args) => users(args, out)?,
        UserAct::Add(args) => add_user(args, out, err)?,
        UserAct::Password(args) => {
            let accounts = open(&args.shared.place.data)?;
            accounts.set_password(&args.name, &password(err)?, &by())?;
            out.line(format!("user {} has another password", args.name));
        }
        UserAct::Disable(args) => each(&args.names, &args.shared.place.data, |all, name, by| {
            all.set_disabled(name, true, by)?;
            out.line(format!("user {name} cannot log in"));
            Ok(())
        })?,
        UserAct::Enable(args) => each(&args.names, &args.shared.place.data, |all, name, by| {
            all.set_disabled(name, false, by)?;
            out.line(format!("user {name} can log in"));
            Ok(())
        })?,
        UserAct::Remove(args) => each(&args.names, &args.shared.place.data, |all, name, by| {
            all.remove_user(name, by)?;
            out.line(format!("user {name} is removed"));
            Ok(())
        })?,
    }
    Ok(())
}

fn each(
    names: &[String],
    data: &Path,
    act: impl Fn(&Accounts, &str, &str) -> Result<(), AccountError>,
) -> Result<()> {
    let (accounts, by) = (open(data)?, by());
    for name in names {
        act(&accounts, name, &by)?;
    }
    Ok(())
}

fn add_user(args: &UserAdd, out: &Screen, err: &Screen) -> Result<()> {
    let accounts = open(&args.shared.place.data)?;
    let (name, by) = (&args.name, by());
    accounts.add_user(name, &password(err)?, &by)?;
    let subject = Subject::User(name.as_str().into());
    for group in &args.groups {
        accounts.add_member(group, name, &by)?;
    }
    for grant in &args.grants {
        accounts.grant(&subject, grant, &by)?;
    }
    out.line(format!("user {name} is added"));
    if args.grants.is_empty() && args.groups.is_empty() {
        err.line(format!("{name} may do nothing yet: travertine access role give {name} viewer"));
    }
    Ok(())
}

/// Asks for a password at a terminal, without showing it; reads a line otherwise.
fn password(err: &Screen) -> Result<String> {
    let input = io::stdin();
    if !input.is_terminal() {
        return line();
    }
    let hidden = |text: &str| {
        err.line(text);
        let before = tcgetattr(&input).context("cannot ask at this terminal")?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&input, OptionalActions::Flush, &silent)?;
        let typed = line();
        tcsetattr(&input, OptionalActions::Flush, &before)?;
        typed
    };
    let first = hidden("Password (it is not shown):")?;
    if hidden("The same again:")? != first {
        bail!("the two are not the same");
    }
    Ok(first)
}

fn line() -> Result<String> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).context("cannot read the password")?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

fn group(act: &GroupAct, out: &Screen) -> Result<()> {
    match act {
        GroupAct::List(args) => groups(args, out)?,
        GroupAct::Add(Members { group, users, shared }) => {
            if users.is_empty() {
                bail!("name the users to put into the group {group}");
            }
            each(users, &shared.place.data, |all, user, by| {
                all.add_member(group, user, by)?;
                out.line(format!("user {user} is in group {group}"));
                Ok(())
            })?;
        }
        GroupAct::Remove(Members { group, users, shared }) if users.is_empty() => {
            open(&shared.place.data)?.remove_group(group, &by())?;
            out.line(format!("group {group} is removed"));
        }
        GroupAct::Remove(Members { group, users, shared }) => {
            each(users, &shared.place.data, |all, user, by| {
                all.remove_member(group, user, by)?;
                out.line(format!("user {user} is not in group {group} any more"));
                Ok(())
            })?;
        }
    }
    Ok(())
}

fn key(act: &KeyAct, out: &Screen) -> Result<()> {
    match act {
        KeyAct::List(args) => keys(args, out)?,
        KeyAct::Add(args) => add_key(args, out)?,
        KeyAct::Remove(args) => each(&args.names, &args.shared.place.data, |all, id, by| {
            all.remove_key(id, by)?;
            out.line(format!("key {id} is removed"));
            Ok(())
        })?,
    }
    Ok(())
}

fn add_key(args: &KeyAdd, out: &Screen) -> Result<()> {
    let accounts = open(&args.shared.place.data)?;
    let by = by();
    let text = accounts.add_key(&args.id, args.expires, &by)?;
    for grant in &args.grants {
        accounts.grant(&Subject::Key(args.id.as_str().into()), grant, &by)?;
    }
    if args.shared.json {
        let fields = [("id", args.id.as_str().into()), ("key", text.as_str().into())];
        out.json(&json::object(fields));
    } else {
        out.line("the key, which is shown only now:");
        out.line(text);
    }
    Ok(())
}

fn change(
    args: &Granting,
    out: &Screen,
    done: &str,
    act: impl Fn(&Accounts, &Grant, &str) -> Result<(), AccountError>,
) -> Result<()> {
    let (accounts, by) = (open(&args.shared.place.data)?, by());
    for grant in &args.grants {
        act(&accounts, grant, &by)?;
        out.line(format!("{grant} is {done} {}", args.who));
    }
    Ok(())
}

fn users(args: &Listing, out: &Screen) -> Result<()> {
    let users = open(&args.shared.place.data)?.users()?;
    if args.shared.json {
        let rows = users.iter().map(|it| {
            json::object([
                ("name", text(&it.name)),
                ("disabled", it.disabled.into()),
                ("created", it.created.to_string().into()),
                ("groups", texts(&it.groups)),
                ("grants", texts(&it.grants)),
            ])
        });
        out.json(&json::object([("users", rows.collect::<Vec<_>>().into())]));
        return Ok(());
    }
    let rows = users.iter().map(|it| {
        vec![
            Cell::from(&*it.name),
            if it.disabled { "disabled" } else { "" }.into(),
            joined(&it.groups).into(),
            joined(&it.grants).into(),
        ]
    });
    table(&["user", "", "groups", "grants"], rows.collect(), "no users", out);
    Ok(())
}

fn groups(args: &Listing, out: &Screen) -> Result<()> {
    let groups = open(&args.shared.place.data)?.groups()?;
    if args.shared.json {
        let rows = groups.iter().map(|it| {
            json::object([
                ("name", text(&it.name)),
                ("users", texts(&it.users)),
                ("grants", texts(&it.grants)),
            ])
        });
        out.json(&json::object([("groups", rows.collect::<Vec<_>>().into())]));
        return Ok(());
    }
    let rows = groups
        .iter()
        .map(|it| vec![Cell::from(&*it.name), joined(&it.users).into(), joined(&it.grants).into()]);
    table(&["group", "users", "grants"], rows.collect(), "no groups", out);
    Ok(())
}

fn keys(args: &Listing, out: &Screen) -> Result<()> {
    let keys = open(&args.shared.place.data)?.keys()?;
    let expires = |it: Option<Timestamp>| it.map(|it| it.to_string()).unwrap_or_default();
    if args.shared.json {
        let rows = keys.iter().map(|it| {
            let expires = it.expires.map_or(Value::Null, |it| it.to_string().into());
            json::object([
                ("id", text(&it.id)),
                ("created", it.created.to_string().into()),
                ("expires", expires),
                ("grants", texts(&it.grants)),
            ])
        });
        out.json(&json::object([("keys", rows.collect::<Vec<_>>().into())]));
        return Ok(());
    }
    let rows = keys
        .iter()
        .map(|it| vec![Cell::from(&*it.id), expires(it.expires).into(), joined(&it.grants).into()]);
    table(&["key", "expires", "grants"], rows.collect(), "no keys", out);
    Ok(())
}

fn roles(args: &Listing, out: &Screen) {
    if args.shared.json {
        let fields = Role::ALL.into_iter().map(|it| (it.name().into(), texts(it.permissions())));
        out.json(&fields.collect::<Value>());
        return;
    }
    let rows = Role::ALL.into_iter();
    let rows = rows.map(|it| vec![Cell::from(it.name()), joined(it.permissions()).into()]);
    table(&["role", "may"], rows.collect(), "", out);
}

fn bindings(args: &Listing, out: &Screen) -> Result<()> {
    let accounts = open(&args.shared.place.data)?;
    let users = accounts.users()?.into_iter().map(|it| (Subject::User(it.name), it.grants));
    let groups = accounts.groups()?.into_iter().map(|it| (Subject::Group(it.name), it.grants));
    let keys = accounts.keys()?.into_iter().map(|it| (Subject::Key(it.id), it.grants));
    let all: Vec<(Subject, Grant)> = users
        .chain(groups)
        .chain(keys)
        .flat_map(|(subject, grants)| grants.into_iter().map(move |it| (subject.clone(), it)))
        .collect();
    if args.shared.json {
        let rows = all.iter().map(|(subject, grant)| {
            json::object([("who", subject.to_string().into()), ("grant", grant.to_string().into())])
        });
        out.json(&json::object([("bindings", rows.collect::<Vec<_>>().into())]));
        return Ok(());
    }
    let rows = all
        .iter()
        .map(|(subject, grant)| vec![Cell::from(subject.to_string()), grant.to_string().into()]);
    table(&["who", "grant"], rows.collect(), "nothing is granted to anybody", out);
    Ok(())
}

fn audit(args: &AuditArgs, out: &Screen) -> Result<()> {
    let all = open(&args.shared.place.data)?.audited(args.before, args.limit)?;
    if args.shared.json {
        let rows = all.iter().map(|it| {
            json::object([
                ("number", it.seq.into()),
                ("at", it.at.to_string().into()),
                ("who", it.who.as_ref().map_or(Value::Null, text)),
                ("what", text(&it.what)),
                ("about", text(&it.about)),
                ("times", it.times.into()),
            ])
        });
        out.json(&json::object([("audit", rows.collect::<Vec<_>>().into())]));
        return Ok(());
    }
    let rows = all.iter().map(|it| {
        let times = if it.times > 1 { format!("{} times", it.times) } else { String::new() };
        vec![
            Cell::from(it.seq.to_string()),
            it.at.to_string().into(),
            it.who.as_deref().unwrap_or("somebody").into(),
            (&*it.what).into(),
            (&*it.about).into(),
            times.into(),
        ]
    });
    table(&["", "at", "who", "what", "about", ""], rows.collect(), "nothing yet", out);
    Ok(())
}

fn table(heads: &[&str], rows: Vec<Vec<Cell>>, none: &str, out: &Screen) {
    if rows.is_empty() {
        out.line(none);
    } else {
        grid::print(heads, rows, out);
    }
}

fn text(it: &Name) -> Value {
    Value::String(Name::clone(it))
}

fn texts<T: ToString>(all: &[T]) -> Value {
    all.iter().map(|it| Value::from(it.to_string())).collect::<Vec<_>>().into()
}

fn joined<T: ToString>(all: &[T]) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}
