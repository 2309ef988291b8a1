"""Turns a report of kiln bench on standard input into a page of Markdown: make_table.py COMMAND."""
import re
import sys
import textwrap


def wrapped(text, first="", rest=""):
    return textwrap.fill(text, 100, initial_indent=first, subsequent_indent=rest,
                         break_long_words=False, break_on_hyphens=False)


def short(peer):
    """"PyTorch 2.15.0+cu132, tcmalloc, out=" -> "PyTorch, out="."""
    name = re.sub(r"^(\D+?) [0-9][\w.+]*(, tcmalloc)?", r"\1", peer)
    return name.replace("outputs gathered at the last valid step", "last valid step")


def print_head(lines, command):
    dated = next(i for i, line in enumerate(lines) if re.match(r"\d{4}-", line))
    date, machine = lines[dated].split("; ", 1)
    print(f"# kiln bench, {date}\n")
    print(wrapped(f"Machine: {machine}. Times are medians of rounds in which Kiln, the peers and "
                  "the calibrations of the limit take turns; compare ratios, not times, of "
                  "different runs.") + f"\n\n    {command}\n")
    end = lines.index("")
    for line in lines[dated + 1:end] + lines[:dated]:
        print(wrapped(line, "- ", "  "))


def print_behind(lines):
    behind = [line[8:].split("; ") for line in lines if line.startswith("behind: ")]
    print("\n## Rows behind a peer\n")
    for parts in behind:
        where, rest = parts[0].rsplit(": ", 1)
        ratio, peer = rest.split(" of ", 1)
        has_limit = len(parts) > 1 and parts[1].startswith("of the limit")
        limit = "; " + parts[1] if has_limit else ""
        reason = "; ".join(parts[2 if has_limit else 1:]) or "not known"
        row, threads = where.split(", ")
        print(wrapped(f"`{row}`, {threads}: {ratio} of {short(peer)}{limit}. Reason: {reason}.",
                      "- ", "  "))
    if not behind or behind == [["no row"]]:
        print("None.")


def print_rows(lines):
    start = next(i for i, line in enumerate(lines) if line.startswith("row "))
    print("\n## Results\n")
    print(wrapped("`ours/limit`: 1 is the least time that the machine needs. `peer/ours`: above 1, "
                  "Kiln is faster than the fastest peer that has the row.") + "\n")
    print("|row|threads|ours, ms|limit, ms|ours/limit|peer, ms|peer/ours|best peer|")
    print("|---|---|---|---|---|---|---|---|")
    for line in lines[start + 1:]:
        cells = line.split(None, 8)
        if cells[0].endswith(":"):
            break
        row, threads, ours, limit, ours_limit = cells[:5]
        peer_ms, ratio = cells[6:8] if len(cells) > 8 else ("", "")
        peer = short(cells[8]) if len(cells) > 8 else ""
        print("|".join(["", row, threads, ours, limit, ours_limit, peer_ms, ratio, peer, ""]))


def print_work(lines):
    print("\n## The rows\n")
    start = next(i for i, line in enumerate(lines) if not line)
    end = next(i for i, line in enumerate(lines) if line.startswith("row "))
    for work, limit in zip(lines[start:end], lines[start + 1:end + 1]):
        found = re.match(r"(\w+): (.*)", work)
        if not found:
            continue
        text = f"`{found[1]}`: {found[2]}."
        if limit.startswith("  limit: "):
            text += " Limit: " + limit[9:] + "."
        print(wrapped(text, "- ", "  "))


def main():
    lines = sys.stdin.read().splitlines()
    print_head(lines, sys.argv[1])
    print_behind(lines)
    print_rows(lines)
    print_work(lines)


main()
