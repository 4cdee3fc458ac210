/*
 * A model of the lease of a task: two tasks, two workers and one server. The steps, and their code:
 *
 *   fetch        fetcher.fetch-and-ack.lua: a task becomes active under a new token, as its next attempt. If the reply is lost, no worker has
 *                the task
 *   renew        heartbeater.renew.lua
 *   ack          the part "Ack" of fetcher.fetch-and-ack.lua, and attempt.return.part.lua. S: the attempt succeeded. R: it failed. B: the
 *                worker gives the task back. If the reply is lost, the worker sends the ack again
 *   expire       step 1 of maintainer.maintain.lua: the lease of a dead or silent worker has ended
 *
 * A worker may stand still between any two steps. So it may renew and ack long after its lease has ended.
 *
 * Invariants:
 *
 *   - Only the worker that fetched a task last completes it, and only this worker gets the answer that it did.
 *   - A task that succeeded has run to its end.
 *   - An active task has one lease, that of its token.
 *   - A task has at most `MOST` attempts.
 *   - Each task ends.
 *
 * Limits: `LOSSES` replies get lost, a worker gives a task back once, and one worker dies. `EARLY` leases end while their worker is alive.
 */
#ifndef LOSSES
#define LOSSES 2
#endif
#ifndef EARLY
#define EARLY 2
#endif
#define TASKS 2
#define WORKERS 2
#define MOST 2
#define TOKENS 4
#define NOBODY 255
#define LEASE(one, number) (one * TOKENS + number - 1)

mtype = { ready, running, succeeded, dead }
mtype = { S, R, B }

/* The keys: `tasks` and `attempts` have a field for each task, and `active` has a member for each token of a task. */
mtype state[TASKS] = ready;
byte token[TASKS];
byte attempt[TASKS];
bool lease[TASKS * TOKENS];

/* Each worker has a task, its token and its attempt. */
byte task[WORKERS] = NOBODY;
byte given[WORKERS];
byte number[WORKERS];
mtype verdict[WORKERS];
bool hasRun[WORKERS];
bool isDead[WORKERS];

/* The faults so far, and the variables that only the checks read. */
byte losses = 0;
byte early = 0;
bool hasGivenBack;
bool hasDied;
byte fetcher[TASKS] = NOBODY;
byte ender[TASKS] = NOBODY;
byte starts[TASKS];
bool ran[TASKS];
byte t;
byte k;
bool isDone;

#define ENDED(one) (state[one] == succeeded || state[one] == dead)
#define ALL_ENDED (ENDED(0) && ENDED(1))

inline drop() {
  task[w] = NOBODY; given[w] = 0; number[w] = 0; hasRun[w] = false; verdict[w] = 0
}

/* As in the script: the task of a failed attempt becomes ready again, or dead. */
inline back(one, counted) {
  if
  :: counted && attempt[one] >= MOST -> state[one] = dead
  :: else ->
    state[one] = ready;
    if
    :: !counted -> attempt[one] = attempt[one] - 1
    :: else
    fi
  fi
}

inline ack(one) {
  isDone = false;
  if
#ifdef PLANT_ANY_TOKEN
  :: state[one] == running ->
#else
  :: state[one] == running && token[one] == given[w] ->
#endif
    assert(fetcher[one] == w);
    assert(lease[LEASE(one, token[one])]);
    lease[LEASE(one, token[one])] = false;
    isDone = true;
    if
    :: verdict[w] == S -> state[one] = succeeded; ender[one] = w; assert(ran[one])
    :: verdict[w] == R -> back(one, true)
    :: verdict[w] == B -> starts[one]--; back(one, false)
    fi
#ifdef PLANT_ANY_ATTEMPT
  :: state[one] == succeeded && verdict[w] == S ->
#else
  :: state[one] == succeeded && verdict[w] == S && attempt[one] == number[w] ->
#endif
    assert(ender[one] == w);
    isDone = true
  :: else
  fi
}

proctype Worker(byte w) {
  do
  :: atomic { task[w] == NOBODY && !isDead[w] && !ALL_ENDED && (state[0] == ready || state[1] == ready) ->
      if
      :: state[0] == ready -> t = 0
      :: state[1] == ready -> t = 1
      fi;
      token[t] = token[t] + 1;
      attempt[t] = attempt[t] + 1;
      starts[t] = starts[t] + 1;
      assert(token[t] <= TOKENS);
      assert(attempt[t] <= MOST && starts[t] <= MOST);
      state[t] = running;
      lease[LEASE(t, token[t])] = true;
      fetcher[t] = w;
      if
      :: task[w] = t; given[w] = token[t]; number[w] = attempt[t]
      :: losses < LOSSES -> losses++; fetcher[t] = NOBODY
      fi;
      t = 0 }
  :: atomic { task[w] != NOBODY && !isDead[w] && verdict[w] == 0 ->
      hasRun[w] = true; ran[task[w]] = true; verdict[w] = S }
  :: atomic { task[w] != NOBODY && !isDead[w] && verdict[w] == 0 -> verdict[w] = R }
  :: atomic { task[w] != NOBODY && !isDead[w] && verdict[w] == 0 && !hasGivenBack -> hasGivenBack = true; verdict[w] = B }
  :: atomic { task[w] != NOBODY && !isDead[w] && verdict[w] == 0 && !lease[LEASE(task[w], given[w])] ->
      /* A renewal of a lease that has not ended changes nothing here. */
      if
#ifdef PLANT_RENEW
      :: state[task[w]] == running -> lease[LEASE(task[w], given[w])] = true
#else
      :: state[task[w]] == running && token[task[w]] == given[w] -> lease[LEASE(task[w], given[w])] = true
#endif
      :: else -> drop()
      fi }
  :: atomic { task[w] != NOBODY && !isDead[w] && verdict[w] != 0 ->
      ack(task[w]);
      if
      :: drop()
      :: losses < LOSSES -> losses++
      fi;
      isDone = false }
  :: atomic { !isDead[w] && !hasDied -> hasDied = true; isDead[w] = true; drop() }
  :: atomic { isDead[w] -> break }
  :: atomic { ALL_ENDED && task[w] == NOBODY -> break }
  od
}

inline expire(one) {
  k = 1;
  do
  :: k <= TOKENS ->
    if
    :: lease[LEASE(one, k)] && (early < EARLY || fetcher[one] == NOBODY || isDead[fetcher[one]] || task[fetcher[one]] != one) ->
      if
      :: fetcher[one] != NOBODY && !isDead[fetcher[one]] && task[fetcher[one]] == one -> early++
      :: else
      fi;
      lease[LEASE(one, k)] = false;
      if
      :: state[one] == running ->
        /* The script doesn't compare the token: no other lease of the task may exist. */
        assert(k == token[one]);
#ifdef PLANT_LOST
        if
        :: attempt[one] < MOST -> back(one, true)
        :: else
        fi
#else
#ifdef PLANT_NOT_COUNTED
        back(one, false)
#else
        back(one, true)
#endif
#endif
      :: else
      fi;
      break
    :: else
    fi;
    k++
  :: else -> break
  od;
  k = 0
}

#define HAS_LEASE(one) \
  (lease[one * TOKENS] || lease[one * TOKENS + 1] || lease[one * TOKENS + 2] || lease[one * TOKENS + 3])
#define MAY_EXPIRE(one) \
  (HAS_LEASE(one) && (early < EARLY || fetcher[one] == NOBODY || isDead[fetcher[one]] || task[fetcher[one]] != one))

proctype Maintainer() {
end:
  do
  :: atomic { MAY_EXPIRE(0) -> expire(0) }
  :: atomic { MAY_EXPIRE(1) -> expire(1) }
  od
}

init {
  atomic {
    run Maintainer();
    run Worker(0);
    run Worker(1)
  }
}
