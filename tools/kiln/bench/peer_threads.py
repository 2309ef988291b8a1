"""peer_threads.py PROGRAM: speaks the protocol of peer.h for a program whose library cannot change
its number of threads. Each number has a process of its own, `PROGRAM --threads N`. Those that are
not asked are stopped: idle threads of ONNX Runtime poll for 50 ms after their last work."""
import signal
import subprocess
import sys

NONE = "none no such row"


class Child:
    def __init__(self, program, threads):
        self.process = subprocess.Popen([sys.executable, program, "--threads", str(threads)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.first_line = self.process.stdout.readline().rstrip("\n")

    def answer(self, question):
        """Empty where the process has ended."""
        self.process.stdin.write(question)
        self.process.stdin.flush()
        return self.process.stdout.readline().rstrip("\n")


def main():
    program = sys.argv[1]
    children = {1: Child(program, 1)}
    unknown = set()  # rows that no process has
    print(children[1].first_line, flush=True)
    for question in sys.stdin:
        row, threads, _ = question.split()
        if row in unknown:
            print(NONE, flush=True)
            continue
        if int(threads) not in children:
            children[int(threads)] = Child(program, threads)
        # peer.h resumed all processes just now.
        for number, child in children.items():
            if number != int(threads):
                child.process.send_signal(signal.SIGSTOP)
        answer = children[int(threads)].answer(question)
        if answer == NONE:
            unknown.add(row)
        print(answer, flush=True)


if __name__ == "__main__":
    main()
