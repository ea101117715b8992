"""Stands the bed up, plays life and faults, and says of each whether `serve` was right. Arguments: names of single steps or faults."""

import sys, threading
from faults import *

seen, wrong = [], []

def findings():
    return {(f["check"] + "/" + f["cause"], f["object"]["name"], f.get("node") or ""): f["message"] for f in report()["findings"] if f["severity"] != "info"}

def poll():
    """Keeps when each finding, and each of its messages, was first said."""
    last = {}
    while True:
        try:
            now = findings()
            seen.extend((time.time(), key[0], " ".join((*key[:2], key[2] + ":", text))) for key, text in now.items() if last.get(key) != text)
            last = now
        except (OSError, ValueError):
            pass
        time.sleep(2)

def verdict(right, name, text):
    wrong.extend([] if right else [name])
    print(f"{'right' if right else 'WRONG'}  {name:50} {text[:160]}", flush=True)

def live(step):
    at = time.time()
    step()
    took = time.time() - at
    time.sleep(8)
    loud = {text for when, cause, text in seen if when >= at and cause not in TRUE_HERE}
    verdict(not loud, step.__name__, "; ".join(loud) or f"silent, {took:.0f} s")

def break_and_mend(name, pattern, seconds, break_it, mend):
    at = time.time()
    break_it()
    found = None
    while not found and time.time() - at < seconds:
        found = next(((when - at, text) for when, _, text in list(seen) if when >= at and re.search(pattern, text)), None)
        time.sleep(1)
    verdict(found, name, f"after {found[0]:.0f} s {found[1]}" if found else f"not said in {seconds} s")
    mended = time.time()
    mend()
    on = lambda: any(re.search(pattern, " ".join((*key[:2], key[2] + ":", text))) for key, text in findings().items())
    while on() and time.time() - mended < 90:
        time.sleep(2)
    print(f"{'':58}{'still said' if on() else 'over'} {time.time() - mended:.0f} s after the step", flush=True)

def main():
    begin = time.time()
    servers()
    images(WORK + "/images.tar")
    install()
    exporter()
    start("s3", f"python3 {HERE}/s3.py {WORK}/s3 {MASTER}")
    threading.Thread(target=poll, daemon=True).start()
    time.sleep(30)
    print(f"Longhorn is ready after {time.time() - begin:.0f} s", flush=True)
    for step in [*LIFE, *FAULTS]:
        name = step[0] if isinstance(step, tuple) else step.__name__
        if not sys.argv[1:] or name in sys.argv[1:]:
            try:
                break_and_mend(*step) if isinstance(step, tuple) else live(step)
            except Exception as problem:
                verdict(False, name, f"the step itself failed: {problem}")
    print(f"\n{len(wrong)} wrong, {time.time() - begin:.0f} s")
    sys.exit(1 if wrong else 0)

main()
