// Made from the .lua files of this folder by `npm run scripts`. Edit those.
import { Script } from '@mortise/redis';

export const dailyBegin = new Script({
  name: "daily.begin",
  isReadOnly: false,
  keys: ["days"],
  args: ["day","markerMs","untilMs"],
  source: "#!lua\n" +
    "-- Notes that a file which never comes again once it is done is counted in a day. Repeating it changes nothing.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   days         SET of days\n" +
    "-- ARGV\n" +
    "--   day\n" +
    "--   markerMs     ms until they go away, if nothing more is begun\n" +
    "--   untilMs      ms since 1970 until which nobody else counts the file; 0: for ever\n" +
    "-- RETURNS\n" +
    "--   1; 0 when the lease of the file has to be renewed first\n" +
    "local days = KEYS[1]\n" +
    "local day, markerMs, untilMs = ARGV[1], ARGV[2], tonumber(ARGV[3])\n" +
    "\n" +
    "-- Whether the lease of whoever counts a file has ended: another worker may have counted it since, and forgotten how far.\n" +
    "local function isLate(untilMs)\n" +
    "  if untilMs == 0 then return false end\n" +
    "  local time = redis.call('TIME')\n" +
    "  return time[1] * 1000 + math.floor(time[2] / 1000) >= untilMs\n" +
    "end\n" +
    "if isLate(untilMs) then return 0 end\n" +
    "redis.call('SADD', days, day)\n" +
    "redis.call('PEXPIRE', days, markerMs)\n" +
    "return 1\n",
} as const);

export const dailyCount = new Script({
  name: "daily.count",
  isReadOnly: false,
  keys: ["files","pending","staged","total","country","region","city"],
  args: ["file","fromOffset","toOffset","lines","stagedParts","part","retentionMs","markerMs","untilMs"],
  source: "#!lua\n" +
    "-- Counts a checkpoint in a day: the lines of a file between two offsets, once, however often it is asked to. The parts that were\n" +
    "-- staged become pending, and are added by daily.resume: so no call takes long.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   files        HASH file -> offset up to which its lines are counted\n" +
    "--   pending      LIST of parts that are counted and wait\n" +
    "--   staged       LIST of parts that aren't counted\n" +
    "--   total        STRING lines of the day\n" +
    "--   country      ZSET member -> lines\n" +
    "--   region       ZSET member -> lines\n" +
    "--   city         ZSET member -> lines\n" +
    "-- ARGV\n" +
    "--   file\n" +
    "--   fromOffset   where the last checkpoint that has lines of this day ended; 0 for none\n" +
    "--   toOffset\n" +
    "--   lines        of this day between them\n" +
    "--   stagedParts  how many are staged\n" +
    "--   part         the first part, which isn't staged\n" +
    "--   retentionMs  ms until the aggregates of the day go away\n" +
    "--   markerMs     ms until the offsets go away\n" +
    "--   untilMs      ms since 1970 until which nobody else counts the file; 0: for ever\n" +
    "-- RETURNS\n" +
    "--   {what became of it, the offset up to which the file is counted, how many parts wait}: 'counted'; 'before', it was counted already;\n" +
    "--   'pending', another checkpoint waits, add that one first; 'unstaged', parts are gone, stage them again; 'late', renew\n" +
    "--   the lease of the file; 'conflict', the file is\n" +
    "--   counted up to an offset within the checkpoint or before it\n" +
    "local files, pending, staged, total = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local country, region, city = KEYS[5], KEYS[6], KEYS[7]\n" +
    "local file = ARGV[1]\n" +
    "local fromOffset = ARGV[2]\n" +
    "local toOffset = ARGV[3]\n" +
    "local lines = ARGV[4]\n" +
    "local stagedParts = tonumber(ARGV[5])\n" +
    "local part = ARGV[6]\n" +
    "local retentionMs = ARGV[7]\n" +
    "local markerMs = ARGV[8]\n" +
    "local untilMs = tonumber(ARGV[9])\n" +
    "\n" +
    "-- Expects: country, region, city (keys). Adds a part: for each member the dimension (1 byte), lines (4), length (2), member.\n" +
    "local function add(part)\n" +
    "  local counts = { country, region, city }\n" +
    "  local position = 1\n" +
    "  while position <= #part do\n" +
    "    local dimension, lines, member\n" +
    "    dimension, lines, member, position = struct.unpack('>BI4Hc0', part, position)\n" +
    "    redis.call('ZINCRBY', counts[dimension], lines, member)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local offset = redis.call('HGET', files, file) or '0'\n" +
    "local waiting = redis.call('LLEN', pending)\n" +
    "if tonumber(offset) >= tonumber(toOffset) then return { 'before', offset, waiting } end\n" +
    "-- Whether the lease of whoever counts a file has ended: another worker may have counted it since, and forgotten how far.\n" +
    "local function isLate(untilMs)\n" +
    "  if untilMs == 0 then return false end\n" +
    "  local time = redis.call('TIME')\n" +
    "  return time[1] * 1000 + math.floor(time[2] / 1000) >= untilMs\n" +
    "end\n" +
    "if isLate(untilMs) then return { 'late', offset, 0 } end\n" +
    "if waiting > 0 then return { 'pending', offset, waiting } end\n" +
    "if offset ~= fromOffset then return { 'conflict', offset, 0 } end\n" +
    "if redis.call('LLEN', staged) ~= stagedParts then return { 'unstaged', offset, 0 } end\n" +
    "\n" +
    "add(part)\n" +
    "if stagedParts > 0 then\n" +
    "  redis.call('RENAME', staged, pending)\n" +
    "  redis.call('PEXPIRE', pending, retentionMs)\n" +
    "end\n" +
    "redis.call('INCRBY', total, lines)\n" +
    "redis.call('HSET', files, file, toOffset)\n" +
    "for _, key in ipairs({ total, country, region, city }) do redis.call('PEXPIRE', key, retentionMs) end\n" +
    "redis.call('PEXPIRE', files, markerMs)\n" +
    "return { 'counted', toOffset, stagedParts }\n",
} as const);

export const dailyDone = new Script({
  name: "daily.done",
  isReadOnly: false,
  keys: ["done"],
  args: ["file","markerMs","untilMs"],
  source: "#!lua flags=allow-oom\n" +
    "-- Notes that a file is done and never comes again. Repeating it changes when.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   done         ZSET file -> when it was done, ms\n" +
    "-- ARGV\n" +
    "--   file\n" +
    "--   markerMs     ms until all are forgotten, if nothing more is done\n" +
    "--   untilMs      ms since 1970 until which nobody else counts the file; 0: for ever\n" +
    "-- RETURNS\n" +
    "--   1; 0 when the lease of the file has to be renewed first\n" +
    "local done = KEYS[1]\n" +
    "local file, markerMs, untilMs = ARGV[1], ARGV[2], tonumber(ARGV[3])\n" +
    "\n" +
    "-- Whether the lease of whoever counts a file has ended: another worker may have counted it since, and forgotten how far.\n" +
    "local function isLate(untilMs)\n" +
    "  if untilMs == 0 then return false end\n" +
    "  local time = redis.call('TIME')\n" +
    "  return time[1] * 1000 + math.floor(time[2] / 1000) >= untilMs\n" +
    "end\n" +
    "if isLate(untilMs) then return 0 end\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "redis.call('ZADD', done, string.format('%d', time[1] * 1000 + math.floor(time[2] / 1000)), file)\n" +
    "redis.call('PEXPIRE', done, markerMs)\n" +
    "return 1\n",
} as const);

export const dailyDue = new Script({
  name: "daily.due",
  isReadOnly: true,
  keys: ["done"],
  args: ["forgetMs","limit"],
  source: "#!lua flags=no-writes\n" +
    "-- Shows which files were done so long ago that it may be forgotten how far they are counted.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   done         ZSET file -> when it was done, ms\n" +
    "-- ARGV\n" +
    "--   forgetMs     ms\n" +
    "--   limit        files\n" +
    "-- RETURNS\n" +
    "--   { ms until the next one of the others is due, or -1 when there is none, files... }\n" +
    "local done = KEYS[1]\n" +
    "local forgetMs, limit = tonumber(ARGV[1]), ARGV[2]\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local dueAt = time[1] * 1000 + math.floor(time[2] / 1000) - forgetMs\n" +
    "local reply = redis.call('ZRANGE', done, '-inf', string.format('%d', dueAt), 'BYSCORE', 'LIMIT', '0', limit)\n" +
    "local after = redis.call('ZRANGE', done, #reply, #reply, 'WITHSCORES')[2]\n" +
    "table.insert(reply, 1, after and math.max(0, tonumber(after) - dueAt) or -1)\n" +
    "return reply\n",
} as const);

export const dailyResume = new Script({
  name: "daily.resume",
  isReadOnly: false,
  keys: ["files","pending","country","region","city"],
  args: ["file","retentionMs"],
  source: "#!lua flags=allow-oom\n" +
    "-- Says up to which offset the lines of a file are counted in a day. If a checkpoint of it has parts that wait, adds one of them.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   files        HASH file -> offset\n" +
    "--   pending      LIST of parts; until the last one is added\n" +
    "--   country      ZSET member -> lines\n" +
    "--   region       ZSET member -> lines\n" +
    "--   city         ZSET member -> lines\n" +
    "-- ARGV\n" +
    "--   file\n" +
    "--   retentionMs  ms until the aggregates of the day go away\n" +
    "-- RETURNS\n" +
    "--   {offset or nil, how many parts still wait}\n" +
    "local files, pending, country, region, city = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]\n" +
    "local file = ARGV[1]\n" +
    "local retentionMs = ARGV[2]\n" +
    "\n" +
    "-- Expects: country, region, city (keys). Adds a part: for each member the dimension (1 byte), lines (4), length (2), member.\n" +
    "local function add(part)\n" +
    "  local counts = { country, region, city }\n" +
    "  local position = 1\n" +
    "  while position <= #part do\n" +
    "    local dimension, lines, member\n" +
    "    dimension, lines, member, position = struct.unpack('>BI4Hc0', part, position)\n" +
    "    redis.call('ZINCRBY', counts[dimension], lines, member)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local part = redis.call('LPOP', pending)\n" +
    "if part then\n" +
    "  add(part)\n" +
    "  for _, key in ipairs({ country, region, city }) do redis.call('PEXPIRE', key, retentionMs) end\n" +
    "end\n" +
    "return { redis.call('HGET', files, file), redis.call('LLEN', pending) }\n",
} as const);

export const dailyStage = new Script({
  name: "daily.stage",
  isReadOnly: false,
  keys: ["staged"],
  args: ["index","part","stagedMs"],
  source: "#!lua\n" +
    "-- Lays a part of a checkpoint aside, before the checkpoint is counted. The same part again changes nothing.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   staged       LIST of parts\n" +
    "-- ARGV\n" +
    "--   index        of the part; the first one begins anew\n" +
    "--   part         see daily.add.part.lua\n" +
    "--   stagedMs     ms until it goes away if nothing more comes\n" +
    "-- RETURNS\n" +
    "--   1; 0 when the parts before it are gone\n" +
    "local staged = KEYS[1]\n" +
    "local index = tonumber(ARGV[1])\n" +
    "local part = ARGV[2]\n" +
    "local stagedMs = ARGV[3]\n" +
    "\n" +
    "if redis.call('LLEN', staged) < index then return 0 end\n" +
    "if index == 0 then\n" +
    "  redis.call('DEL', staged)\n" +
    "else\n" +
    "  redis.call('LTRIM', staged, 0, index - 1)\n" +
    "end\n" +
    "redis.call('RPUSH', staged, part)\n" +
    "redis.call('PEXPIRE', staged, stagedMs)\n" +
    "return 1\n",
} as const);
