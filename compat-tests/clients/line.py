"""The protocol of the drivers (doc.go), for those in Python."""

import logging
import queue
import sys
import threading
import traceback


def say(*words):
    print(*words, flush=True)


def assigned(partitions):
    say("+", *(p.partition for p in partitions))


def revoked(partitions):
    say("-", *(p.partition for p in partitions))


def options(words):
    return dict(word.split("=", 1) for word in words)


def run(driver):
    """Executes commands until the end of the input. A command is a method of the driver; in between it polls its consumer."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    commands = queue.Queue()

    def read():
        for text in sys.stdin:
            commands.put(text.split())
        commands.put(["quit"])

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            words = commands.get(block=driver.consumer is None)
        except queue.Empty:
            driver.poll()
            continue
        if words[0] == "quit":
            return
        try:
            answer = getattr(driver, words[0].replace("-", "_"))(*words[1:])
            say("ok", *([] if answer is None else [answer]))
        except Exception as err:  # whatever the client raises is the answer
            traceback.print_exc()
            say("error", type(err).__name__, str(err).replace("\n", " "))
