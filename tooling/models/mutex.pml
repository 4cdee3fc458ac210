/*
 * A model of Mutex: how a lock passes from its holder to a waiter. Three clients and one server take part. One client acquires the lock twice.
 *
 * Each acquisition is a member with a name of its own (`LockRequest.member` in packages/locks/src/acquire/acquisition.ts). The steps, and
 * their code:
 *
 *   acquire      mutex.acquire.lua with mode W. If the reply is lost, the client acquires again
 *   subscribe    Acquisition.#wait: `queue.inbox`
 *   receive      Acquisition.#receive, and `granted` of the request. A grant whose lease has ended counts as no grant
 *   recheck      mutex.recheck.lua, which WaitQueue sends after a subscription, an interruption and the end of a lease
 *   release      mutex.release.lua, fair. A waiter that gives up sends it too, and so does a holder whose lease has ended
 *   grantNext    mutex.grant-next.part.lua
 *   expire       the key `lease` expires: its client is dead, or stands still for longer than the lease
 *   write        a holder writes to a resource that compares fencing tokens
 *
 * The model has no recheck that changes nothing. So a client that waits for ever is a state without a next step, which spin reports.
 *
 * Invariants:
 *
 *   - At most one member has a lease that hasn't ended (`valid`).
 *   - Each grant has a greater token than the one before.
 *   - The resource accepts a member's write only if its token is greater than those of other members so far.
 *   - No member gets the lock before a waiter that came earlier and has subscribed.
 *   - No client waits for ever.
 *
 * Limits: `LOSSES` messages get lost, `EARLY` leases end early, and one client dies. The clock of the server doesn't jump, and no key is lost:
 * the simulation and the fault tests have both.
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

/* The faults so far, and the variables that only the checks read. */
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

/* The last place in the queue. The script takes the next place from the clock; here it is the last one plus 1. */
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

/* Only the order of tokens matters. If no client and no message has a token, they start at 1 again, which saves states. */
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
