//! Activity around the worst starts as `trace.dat`, version 6, which KernelShark and trace-cmd read: switches between
//! threads, and notes where handlers begin and end, and where an activation was due and started.
//!
//! A run file has names of threads and no numbers: here they are numbered in the order of their names.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use jitterlab_model::Error;
use jitterlab_model::causes::{ExecutionContext, TaskCauses};
use jitterlab_runs::Run;

use super::description::machine_comments;
use super::words::{due_note, handler_note, start_note};
use super::{ExportSummary, Loss};

const PAGE_BYTES: usize = 4_096;
/// Time of the page's first event, and the number of bytes behind.
const PAGE_HEADER_BYTES: usize = 16;
/// Time from one event to the next takes 27 bits.
const LONGEST_DELTA_NS: i64 = (1 << 27) - 1;
/// A thread's name with its end.
const NAME_BYTES: usize = 16;
const NOTE_BYTES: usize = 64;
const SWITCH_ID: u16 = 1;
const NOTE_ID: u16 = 2;

const HEADER_PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
    \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
    \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
    \tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";
const HEADER_EVENT: &str = "# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n\
    \tarray       :   32 bits\n\n\tpadding     : type == 29\n\ttime_extend : type == 30\n\
    \ttime_stamp : type == 31\n\tdata max type_len  == 28\n";
const COMMON: &str = "format:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
    \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
    \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
    \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";
const SWITCH_FIELDS: &str = "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
    \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
    \tfield:char next_comm[16];\toffset:28;\tsize:16;\tsigned:0;\n\
    \tfield:pid_t next_pid;\toffset:44;\tsize:4;\tsigned:1;\n\n\
    print fmt: \"%s:%d ==> %s:%d\", REC->prev_comm, REC->prev_pid, REC->next_comm, REC->next_pid\n";
const NOTE_FIELDS: &str = "\tfield:char note[64];\toffset:8;\tsize:64;\tsigned:0;\n\n\
    print fmt: \"%s\", REC->note\n";

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum TraceEvent<'a> {
    /// The processor goes from one thread to another; none is the idle one, or unknown.
    Switch(Option<&'a str>, Option<&'a str>),
    Note(String),
}

/// Writes the worst starts of these tasks, and what ran around them; fails if their causes are unknown.
pub(super) fn write(run: &Run, tasks: &[usize], out: &mut dyn Write) -> Result<ExportSummary, Error> {
    let causes = run.causes()?;
    let named = run.info().tasks.iter().map(|task| task.spec.name.as_str()).zip(&causes.tasks).enumerate();
    let of: Vec<_> = named.filter(|(task, _)| tasks.contains(task)).map(|(_, of)| of).collect();
    let late_starts = of.iter().map(|(_, causes)| causes.worst_starts.len() as u64).sum();
    let mut moments = events_by_cpu(&of);
    if let Some(first) = moments.values_mut().next() {
        let from_ns = first.first().map_or(0, |(t_ns, _)| *t_ns);
        let machine = machine_comments(run.info()).into_iter();
        first.splice(0..0, machine.map(|line| (from_ns, TraceEvent::Note(line))));
    }
    write_file(&moments, out)?;
    let results = tasks.iter().filter_map(|task| run.info().tasks[*task].result.as_ref());
    let executed: u64 = results.map(|result| result.executed).sum();
    let mut exported = ExportSummary { late_starts, ..ExportSummary::default() };
    exported.record_loss(executed.saturating_sub(late_starts), |count| Loss::Earlier { count });
    Ok(exported)
}

/// Thread switches and notes of each processor, in order of time.
fn events_by_cpu<'a>(of: &[(&'a str, &'a TaskCauses)]) -> BTreeMap<u16, Vec<(i64, TraceEvent<'a>)>> {
    let mut spans: BTreeMap<u16, BTreeSet<_>> = BTreeMap::new();
    let mut moments: BTreeMap<u16, Vec<(i64, TraceEvent<'a>)>> = BTreeMap::new();
    for (task, causes) in of {
        for late in &causes.worst_starts {
            let notes = moments.entry(late.cpu).or_default();
            notes.push((late.due_ns, TraceEvent::Note(due_note(task, late.index))));
            notes.push((late.due_ns + late.latency_ns, TraceEvent::Note(start_note(task, late.latency_ns))));
            // A span around two activations occurs twice.
            let here = spans.entry(late.cpu).or_default();
            here.extend(late.spans.iter().map(|span| {
                let name = causes.names.get(span.name).map_or("", String::as_str);
                let from_ns = late.due_ns + span.at_ns;
                (from_ns, from_ns + span.ns, span.context, name)
            }));
        }
    }
    for (cpu, spans) in spans {
        let moments = moments.entry(cpu).or_default();
        let (mut thread, mut until_ns) = (None, i64::MIN);
        for (from_ns, to_ns, lane, name) in spans {
            if from_ns > until_ns && thread.is_some() {
                moments.push((until_ns, TraceEvent::Switch(thread.take(), None)));
            }
            match lane {
                ExecutionContext::Thread | ExecutionContext::Task if thread != Some(name) => {
                    moments.push((from_ns, TraceEvent::Switch(thread.replace(name), Some(name))));
                }
                ExecutionContext::Thread | ExecutionContext::Task => {}
                ExecutionContext::Interrupt | ExecutionContext::Softirq => {
                    moments.push((from_ns, TraceEvent::Note(handler_note(name, true))));
                    moments.push((to_ns, TraceEvent::Note(handler_note(name, false))));
                }
            }
            until_ns = until_ns.max(to_ns);
        }
        moments.push((until_ns, TraceEvent::Switch(thread, None)));
    }
    // Of one time, switches come first, in their order.
    moments.values_mut().for_each(|moments| moments.sort_by_key(|(t_ns, _)| *t_ns));
    moments
}

/// Writes the file: descriptions of its events, then the pages of each processor.
fn write_file(moments: &BTreeMap<u16, Vec<(i64, TraceEvent<'_>)>>, out: &mut dyn Write) -> io::Result<()> {
    let names: BTreeSet<&str> =
        moments.values().flatten().flat_map(|(_, moment)| event_threads(moment)).collect();
    let numbers: BTreeMap<&str, u32> = names.into_iter().zip(1..).collect();
    let cpus = moments.keys().last().map_or(1, |cpu| usize::from(*cpu) + 1);
    let mut head: Vec<u8> = Vec::new();
    head.extend(b"\x17\x08\x44tracing6\0\0\x08");
    head.extend((PAGE_BYTES as u32).to_le_bytes());
    for (name, text) in [("header_page", HEADER_PAGE), ("header_event", HEADER_EVENT)] {
        head.extend(name.bytes().chain([0]).chain((text.len() as u64).to_le_bytes()).chain(text.bytes()));
    }
    // No events of ftrace's own, and two systems of one event each.
    head.extend(0u32.to_le_bytes().into_iter().chain(2u32.to_le_bytes()));
    for (system, event, id, fields) in
        [("sched", "sched_switch", SWITCH_ID, SWITCH_FIELDS), ("jitterlab", "note", NOTE_ID, NOTE_FIELDS)]
    {
        let text = format!("name: {event}\nID: {id}\n{COMMON}{fields}");
        head.extend(system.bytes().chain([0]).chain(1u32.to_le_bytes()));
        head.extend((text.len() as u64).to_le_bytes().into_iter().chain(text.bytes()));
    }
    // Neither addresses of functions nor formats of printk.
    head.extend([0; 8]);
    let commands: String = numbers.iter().map(|(name, number)| format!("{number} {name}\n")).collect();
    head.extend((commands.len() as u64).to_le_bytes().into_iter().chain(commands.bytes()));
    head.extend((cpus as u32).to_le_bytes());
    head.extend(b"options  \0\0\0flyrecord\0");
    let first_page = (head.len() + 16 * cpus).next_multiple_of(PAGE_BYTES);
    let mut data: Vec<Vec<u8>> = vec![Vec::new(); cpus];
    for (cpu, moments) in moments {
        data[usize::from(*cpu)] = ring_buffer_pages(moments, &numbers);
    }
    let mut place = first_page;
    for pages in &data {
        head.extend((place as u64).to_le_bytes().into_iter().chain((pages.len() as u64).to_le_bytes()));
        place += pages.len();
    }
    head.resize(first_page, 0);
    out.write_all(&head)?;
    data.iter().try_for_each(|pages| out.write_all(pages))
}

fn event_threads<'a>(moment: &TraceEvent<'a>) -> impl Iterator<Item = &'a str> + use<'a> {
    let (from, to) = match moment {
        TraceEvent::Switch(from, to) => (*from, *to),
        TraceEvent::Note(_) => (None, None),
    };
    from.into_iter().chain(to)
}

/// Encodes the events of a processor in pages of a ring buffer.
fn ring_buffer_pages(moments: &[(i64, TraceEvent<'_>)], numbers: &BTreeMap<&str, u32>) -> Vec<u8> {
    let (mut pages, mut page) = (Vec::new(), Vec::with_capacity(PAGE_BYTES));
    let (mut last_ns, mut current) = (0, None);
    for (t_ns, moment) in moments {
        let record = event_record(moment, current, numbers);
        let delta_ns = t_ns - last_ns;
        if page.is_empty() || page.len() + record.len() + 4 > PAGE_BYTES || delta_ns > LONGEST_DELTA_NS {
            finish_page(&mut page, &mut pages);
            page.extend(t_ns.to_le_bytes().into_iter().chain([0; 8]));
            last_ns = *t_ns;
        }
        // The length in words, and the time since the event before.
        let header = (record.len() / 4) as u32 | ((t_ns - last_ns) as u32) << 5;
        page.extend(header.to_le_bytes().into_iter().chain(record));
        last_ns = *t_ns;
        if let TraceEvent::Switch(_, to) = moment {
            current = *to;
        }
    }
    finish_page(&mut page, &mut pages);
    pages
}

fn finish_page(page: &mut Vec<u8>, pages: &mut Vec<u8>) {
    if page.len() > PAGE_HEADER_BYTES {
        let filled = (page.len() - PAGE_HEADER_BYTES) as u64;
        page[8..PAGE_HEADER_BYTES].copy_from_slice(&filled.to_le_bytes());
        page.resize(PAGE_BYTES, 0);
        pages.append(page);
    }
}

fn event_record(moment: &TraceEvent<'_>, current: Option<&str>, numbers: &BTreeMap<&str, u32>) -> Vec<u8> {
    let number = |name: Option<&str>| name.and_then(|name| numbers.get(name)).copied().unwrap_or(0);
    let (id, of) = match moment {
        TraceEvent::Switch(from, _) => (SWITCH_ID, *from),
        TraceEvent::Note(_) => (NOTE_ID, current),
    };
    let mut record = Vec::new();
    record.extend(id.to_le_bytes().into_iter().chain([0, 0]).chain(number(of).to_le_bytes()));
    match moment {
        TraceEvent::Switch(from, to) => {
            for thread in [*from, *to] {
                record.extend(padded_field::<NAME_BYTES>(thread.unwrap_or("<idle>")));
                record.extend(number(thread).to_le_bytes());
            }
        }
        TraceEvent::Note(note) => record.extend(padded_field::<NOTE_BYTES>(note)),
    }
    record
}

/// A text in a field of a fixed length, with its end.
fn padded_field<const LENGTH: usize>(text: &str) -> [u8; LENGTH] {
    let mut field = [0; LENGTH];
    field.iter_mut().zip(text.bytes().take(LENGTH - 1)).for_each(|(there, byte)| *there = byte);
    field
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::causes::{ExecutionSpan, LateStart};

    /// A task, a handler over a hog, and idle before.
    #[test]
    fn switches_and_notes_are_in_order_and_the_file_says_where_its_pages_are() {
        let ran = |context, name, at_ns, ns| ExecutionSpan { context, name, at_ns, ns };
        let spans = vec![
            ran(ExecutionContext::Thread, 0, -5_000, 6_000),
            ran(ExecutionContext::Interrupt, 1, 1_000, 500),
            ran(ExecutionContext::Thread, 0, 1_500, 8_500),
            ran(ExecutionContext::Task, 2, 10_000, 900),
        ];
        let late =
            LateStart { index: 7, due_ns: 1_000_000, latency_ns: 10_200, cpu: 1, parts: Vec::new(), spans };
        let names = ["hog", "local_timer", "main"].map(String::from).into();
        let causes = TaskCauses { worst_starts: vec![late], names, ..TaskCauses::default() };
        let moments = events_by_cpu(&[("main", &causes)]);
        let switches: Vec<_> = moments[&1]
            .iter()
            .filter_map(|(t, moment)| match moment {
                TraceEvent::Switch(from, to) => Some((*t, *from, *to)),
                TraceEvent::Note(_) => None,
            })
            .collect();
        let (hog, main) = (Some("hog"), Some("main"));
        assert_eq!(switches, [(995_000, None, hog), (1_010_000, hog, main), (1_010_900, main, None)]);
        assert_eq!(moments[&1].len(), 3 + 4, "two of the handler, due and start");
        let mut bytes = Vec::new();
        write_file(&moments, &mut bytes).unwrap();
        let place = bytes.windows(10).position(|window| window == b"flyrecord\0").unwrap() + 10;
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
        let [(none, empty), (from, length)] =
            [0, 16].map(|cpu| (number(place + cpu), number(place + cpu + 8)));
        assert_eq!((none, empty, length, from + length), (from, 0, PAGE_BYTES, bytes.len()));
        assert_eq!(number(from), 995_000, "the time of the first event");
    }
}
