/*
 * The hand-over of a Mutex: three clients, one of which acquires twice, and one server.
 *
 * A member is an acquisition: each has a name of its own (`LockRequest.member` in packages/locks/src/acquire/acquisition.ts). Steps:
 *
 *   acquire      mutex.acquire.lua with mode W. A lost reply leaves the client where it was: it asks again
 *   subscribe    Acquisition.#wait: `queue.inbox`
 *   receive      Acquisition.#receive, and `granted` of the request: a grant whose term is over counts as none
 *   recheck      mutex.recheck.lua, which WaitQueue sends after a subscription, an interruption and the end of a lease
 *   release      mutex.release.lua, fair; also of a waiter that leaves. A late holder, whose lease has ended, sends it too
 *   grantNext    mutex.grant-next.part.lua
 *   expire       the end of the key `lease`: of a dead client, or of one that stands still for longer than its lease
 *   write        what a holder does to a resource that compares fencing tokens
 *
 * A recheck that changes nothing is left out. So a client that waits for ever is a state without a next step, which spin reports.
 *
 * Invariants: at most one member has a lease that hasn't ended (`valid`); tokens grow with each grant; a write is accepted only with a newer
 * token than that of another member; nobody overtakes a waiter that listens; no client waits for ever.
 *
 * Limits: messages are lost `LOSSES` times, leases end early `EARLY` times, one client dies. The clock of the server doesn't jump, and keys are
 * not lost: the simulation and the fault tests have both.
 */
#ifndef LOSSES
#define LOSSES 1
#endif
#ifndef EARLY
#define EARLY 1
#endif
#define N 3
#define MEMBERS 6
#define NONE 255
#define CLIENT(member) (member / 2)

mtype = { idle, waiting, holding, gone }

/* The keys: lease, token, queue. */
byte holder = NONE;
byte token = 0;
bool queued[MEMBERS];
byte place[MEMBERS];

/* The clients. */
mtype state[N] = idle;
byte member[N];
byte held[N];
bool listens[N];
bool hasWritten[N];
chan inbox[N] = [2] of { byte, byte };

/* The faults so far, and what only the checks see. */
byte losses = 0;
byte early = 0;
bool hasDied;
bool valid[MEMBERS];
byte written = 0;
byte writer = NONE;
byte i;
byte head;
byte last;

inline check(granted, isQueued) {
  i = 0;
  do
  :: i < MEMBERS ->
    assert(i == granted || !valid[i]);
    if
    :: i != granted && queued[i] && member[CLIENT(i)] == i && state[CLIENT(i)] == waiting && listens[CLIENT(i)] ->
      assert(isQueued && place[i] > place[granted])
    :: else
    fi;
    i++
  :: else -> break
  od
}

inline give(granted, isQueued) {
  check(granted, isQueued);
  holder = granted;
  valid[granted] = true
}

inline findHead() {
  head = NONE;
  i = 0;
  do
  :: i < MEMBERS ->
    if
    :: queued[i] && (head == NONE || place[i] < place[head]) -> head = i
    :: else
    fi;
    i++
  :: else -> break
  od
}

/* The script takes the next place from the clock. */
inline findLast(except) {
  last = 0;
  i = 0;
  do
  :: i < MEMBERS ->
    if
    :: place[i] > last && i != except -> last = place[i]
    :: else
    fi;
    i++
  :: else -> break
  od
}

inline grantNext() {
  holder = NONE;
  do
  :: true ->
    findHead();
    if
    :: head == NONE -> break
    :: head != NONE && listens[CLIENT(head)] ->
#ifndef PLANT_OLD_TOKEN
      token++;
#endif
      give(head, true);
      queued[head] = false;
      if
      :: nfull(inbox[CLIENT(head)]) -> inbox[CLIENT(head)] ! head, token
      :: losses < LOSSES -> losses++
      :: full(inbox[CLIENT(head)]) -> skip
      fi;
      break
    :: else -> queued[head] = false
    fi
  od;
  head = NONE
}

inline acquire(mine) {
  findHead();
  if
#ifdef PLANT_BARGE
  :: holder == NONE -> token++; give(mine, false)
#else
  :: holder == NONE && head == NONE -> token++; give(mine, false)
#endif
  :: holder == mine -> token++; queued[mine] = false
  :: else ->
    if
    :: !queued[mine] -> findLast(mine); place[mine] = last + 1; last = 0; queued[mine] = true
    :: else
    fi
  fi;
  head = NONE
}

inline release(mine) {
  if
#ifdef PLANT_LATE_RELEASE
  :: holder != NONE -> valid[mine] = false; grantNext()
#else
  :: holder == mine -> valid[mine] = false; grantNext()
#endif
  :: else -> queued[mine] = false
  fi
}

#define MAY_RECHECK \
  (listens[c] && (holder == member[c] || !queued[member[c]] || holder == NONE))

/* Only the order of tokens counts: where none is under way, they begin anew, which saves states. */
inline forget() {
  i = 0; head = 0;
  if
  :: held[0] == 0 && held[1] == 0 && held[2] == 0 && len(inbox[0]) == 0 && len(inbox[1]) == 0 && len(inbox[2]) == 0 && holder == NONE ->
    token = 1;
    if
    :: writer == NONE -> written = 0
    :: else -> written = 1
    fi
  :: else
  fi
}

inline next() {
  hasWritten[c] = false;
  held[c] = 0;
  place[member[c]] = 0;
  forget();
  if
  :: c == 0 && member[c] == 0 -> member[c] = 1; state[c] = idle
  :: else -> state[c] = gone
  fi
}

proctype Client(byte c) {
  do
  :: atomic { state[c] == idle ->
      acquire(member[c]);
      if
      :: holder == member[c] -> held[c] = token; state[c] = holding
      :: holder != member[c] -> state[c] = waiting
      :: losses < LOSSES -> losses++
      fi }
  :: atomic { state[c] == waiting && !listens[c] -> listens[c] = true }
  :: atomic { state[c] == waiting && listens[c] && nempty(inbox[c]) ->
      inbox[c] ? head, i;
      if
      :: head != member[c] -> skip
      :: head == member[c] && holder == head -> held[c] = i; state[c] = holding
      :: head == member[c] && holder != head -> state[c] = idle
      fi;
      head = NONE; i = 0 }
#ifndef PLANT_NO_RECHECK
  :: atomic { state[c] == waiting && MAY_RECHECK ->
      if
      :: holder == member[c] -> held[c] = token; state[c] = holding
      :: else ->
        queued[member[c]] = true;
        if
        :: holder == NONE -> grantNext()
        :: else
        fi
      fi;
      i = 0 }
#endif
  :: atomic { state[c] == holding && !hasWritten[c] ->
      hasWritten[c] = true;
      if
      :: held[c] >= written ->
        assert(writer == NONE || writer == member[c] || held[c] > written);
        written = held[c];
        writer = member[c]
      :: else
      fi }
  :: atomic { state[c] == holding ->
      release(member[c]);
      next() }
  :: atomic { state[c] == waiting && c == 1 -> release(member[c]); next() }
  :: atomic { (state[c] == waiting || state[c] == holding) && !hasDied ->
      hasDied = true; listens[c] = false; held[c] = 0; state[c] = gone }
  :: atomic { state[c] == gone ->
      listens[c] = false;
      do
      :: nempty(inbox[c]) -> inbox[c] ? head, i
      :: empty(inbox[c]) -> break
      od;
      head = 0; i = 0;
      break }
  od
}

proctype Time() {
end:
  do
  :: atomic { holder != NONE && (state[CLIENT(holder)] == gone || member[CLIENT(holder)] != holder) ->
      valid[holder] = false; holder = NONE }
  :: atomic { holder != NONE && early < EARLY -> early++; valid[holder] = false; holder = NONE }
  od
}

init {
  atomic {
    member[1] = 2;
    member[2] = 4;
    run Time();
    run Client(0);
    run Client(1);
    run Client(2)
  }
}
