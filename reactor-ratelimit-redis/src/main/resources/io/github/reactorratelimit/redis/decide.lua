-- Decides one batch of one process: all it has to tell first, then all it asks for, in order. Nothing else runs between.
--
-- STATE   KEYS[1]    string: the number of the last batch of this process
--         KEYS[2..]  one hash per scope key, one field per limit, all numbers whole, all times in microseconds:
--           closed           closed for everybody until then
--           ramp             "wave waves width clean full ceiling steady": when the last wave of refusals was told first, how
--                            many came in a row, and how it opens again: so many may be out at once (0: no ramp), so many
--                            clean answers came at this width, whether somebody may have been held up, what refusals taught
--                            where no limit is known, whether it widens slowly
--           out              "process held until ...": who has how many out that have a place in the ramp
--           ends             when the key does, or "never"
--           opened           it was opened by hand; until when it would have been closed, which others may still believe
--           since            when it was forgotten last: nothing is corrected of what was granted before
--           usage            "permille at": how full the server said it is, and when that was told
--           window:...       "until amount until amount ...", rising: so much counts until then
--           bucket:...       "arrival rest full": when the next permit would be due (GCRA), the part of a microsecond besides,
--                            and when it was last seen full
--           flight:...       "process held until ...": so many held by that process, until its lease ends
--           total:...        what was ever taken
--           quota:...        "left till since": what a server said is left, less what was granted since
--           quotas           the names of those fields
--           probes           "process 1 until ...": who may have asked what is left while no quota is known
--
-- ARGV[1] one line of words with a space between them:
--         now              "-" for the server's clock, else microseconds (for tests, and for servers without TIME)
--         batch            rises with every batch of a process; one that isn't newer than the last is refused; 0: only looks
--         expires          refused if it is later than that (0: never): nobody waits for the answer any more
--         process, lease   who asks, and how long it holds what is in flight without another word
--         learns           1: quotas that this process doesn't name count too, and are told
--         limits           how many, then each: key, field, kind, and its figures
--           window           permits, span, grain (ends of entries are rounded up to it)
--           bucket           burst, micros, rest, rate (one permit takes micros + rest / rate), initial, borrows (0 or 1),
--                            span (of the window it spaces; 0: none)
--           flight, total, quota    permits
--         closings         how many, then each: key, micros (closes at least so long; -1 opens, -2 forgets all that is known),
--                          refused (when the permit was granted that the server refused; 0: nobody was)
--         holdings         how many, then each: limit, held: what this process holds now, whatever it was before
--         corrections      how many, then each: limit, granted (when), base (what it counted from), counted (how much of that counts from
--                          another time now), age (how long ago that is; negative: yet to come), delta (what it costs more)
--         ramps            how many, then each: key, wave (as this process knows it), held (what it has out in the ramp),
--                          clean (answers since it told last), normal (how wide its limits are, 0: not known), usage (per
--                          mille, -1: nothing new)
--         words            how many, then each: limit (a quota), left by the server's word, and how long until its reset, at
--                          least and at most
--         asks             how many, then each: times, ahead (how many more for who comes next), kept (for how long those may be
--                          kept), figures (1: what is left is wanted too), keys, then each key; parts, then each: limit, cost,
--                          transit (how much later than now it counts from)
--
-- REPLY   now
--         per key          for how long it is closed (-1: it was opened by hand before that was over), wave, waves, width, usage, when that was told; if it learns also
--                          the number of its quotas, then each: field, left before all asks, and for how long
--         per ask          how many of `times` are granted; if it asks ahead, how many of those; of the next one, how long it has to wait (0: nothing refused it;
--                          -1: not a matter of time), which key says so, and which limit (0: the key itself; if wanted, the one with
--                          the least left), what that has left, and in what time it is full again (-1: never)
--         or an error that begins with STALE or EXPIRED, and nothing has changed

local text = string.gmatch(ARGV[1], '%S+')
local function int()
  return tonumber(text())
end
-- tostring would write 1.8e+15.
local function digits(number)
  return string.format('%.0f', number)
end

local now = int()
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local batch, expires, process, lease, learns = int(), int(), text(), int(), int() == 1
if expires > 0 and now > expires then
  return redis.error_reply('EXPIRED ' .. digits(now))
end
if batch > 0 then
  local last = tonumber(redis.call('GET', KEYS[1]) or '0')
  if batch <= last then
    return redis.error_reply('STALE batch ' .. digits(batch) .. ' came after ' .. digits(last))
  end
  redis.call('SET', KEYS[1], digits(batch), 'PX', 86400000)
end

---------------------------------------------------------------------------------------------------------- kinds of limits

-- Each kind reads its figures, loads and saves its state, and answers: room, how many of `times` fit; wait, until one fits
-- that doesn't now; left, what could be taken now; full, when it is full again (nil: never). It takes, corrects, and stops
-- accruing from one time to another. What is kept for a while is taken at the end of it. Kinds are made when they are
-- needed: most calls need one.
local makers = {}
local kinds = setmetatable({}, { __index = function(made, name)
  local kind = makers[name]()
  made[name] = kind
  return kind
end })

local function room_below(limit, cost, times)
  return math.max(0, math.min(times, math.floor((limit.permits - limit.used) / cost)))
end

local function left_below(limit)
  return limit.permits - limit.used
end

function makers.window()
  local window = {}

  function window.read(limit)
    limit.permits, limit.span, limit.grain = int(), int(), int()
  end

  function window.load(limit, state)
    limit.entries, limit.used = {}, 0
    for till, amount in string.gmatch(state, '(%d+) (%d+)') do
      local entry = { till = tonumber(till), amount = tonumber(amount) }
      if entry.till > now then
        limit.entries[#limit.entries + 1] = entry
        limit.used = limit.used + entry.amount
      end
    end
  end

  function window.save(limit)
    local words = {}
    for i, entry in ipairs(limit.entries) do
      words[i] = digits(entry.till) .. ' ' .. digits(entry.amount)
    end
    return table.concat(words, ' ')
  end

  local function till_of(limit, from)
    return math.ceil((from + limit.span) / limit.grain) * limit.grain
  end

  -- Changes what counts until `till`, never below zero; by how much it did.
  local function change(limit, till, delta)
    local at = #limit.entries + 1
    while at > 1 and limit.entries[at - 1].till >= till do
      at = at - 1
    end
    local entry = limit.entries[at]
    if not entry or entry.till ~= till then
      if delta <= 0 then
        return 0
      end
      entry = { till = till, amount = 0 }
      table.insert(limit.entries, at, entry)
    end
    local done = math.max(delta, -entry.amount)
    entry.amount = entry.amount + done
    limit.used = limit.used + done
    if entry.amount == 0 then
      table.remove(limit.entries, at)
    end
    return done
  end

  window.room, window.left = room_below, left_below

  function window.wait(limit, cost)
    local missing = limit.used + cost - limit.permits
    for _, entry in ipairs(limit.entries) do
      missing = missing - entry.amount
      if missing <= 0 then
        return entry.till - now
      end
    end
    return -1
  end

  function window.take(limit, amount, transit, kept)
    change(limit, till_of(limit, now + transit + kept), amount)
  end

  function window.correct(limit, base, counted, age, delta)
    local till, earlier = till_of(limit, base), till_of(limit, now - age)
    if counted > 0 and earlier < till and till > now then
      local moved = -change(limit, till, -counted)
      till = earlier
      if moved > 0 and till > now then
        change(limit, till, moved)
      end
    end
    if delta ~= 0 and till > now then
      change(limit, till, delta)
    end
  end

  function window.stop() end

  function window.full(limit)
    local newest = limit.entries[#limit.entries]
    return newest and newest.till or now
  end

  return window
end

function makers.bucket()
  local bucket = {}

  function bucket.read(limit)
    limit.burst, limit.micros, limit.part, limit.rate = int(), int(), int(), int()
    limit.initial, limit.borrows, limit.span = int(), int() == 1, int()
  end

  -- The time of so many permits: whole microseconds, and the rest of one in parts of `rate`.
  local function steps(limit, permits)
    local parts = permits * limit.part
    local whole = math.floor(parts / limit.rate)
    return permits * limit.micros + whole, parts - whole * limit.rate
  end

  local function move(limit, permits)
    local whole, rest = steps(limit, math.abs(permits))
    if permits >= 0 then
      limit.arrival, limit.rest = limit.arrival + whole, limit.rest + rest
    else
      limit.arrival, limit.rest = limit.arrival - whole, limit.rest - rest
    end
    if limit.rest >= limit.rate then
      limit.arrival, limit.rest = limit.arrival + 1, limit.rest - limit.rate
    elseif limit.rest < 0 then
      limit.arrival, limit.rest = limit.arrival - 1, limit.rest + limit.rate
    end
  end

  -- What would be due earlier is due now.
  local function catch_up(limit)
    if limit.arrival < now or (limit.arrival == now and limit.rest == 0) then
      limit.arrival, limit.rest, limit.seen = now, 0, now
    end
  end

  function bucket.load(limit, state)
    local arrival, rest, full = string.match(state, '(%d+) (%d+) ?(%d*)')
    limit.arrival, limit.rest, limit.seen = tonumber(arrival), tonumber(rest), tonumber(full) or now
    if not limit.arrival then
      limit.arrival, limit.rest = now, 0
      move(limit, limit.burst - limit.initial)
    end
    catch_up(limit)
  end

  function bucket.save(limit)
    return digits(limit.arrival) .. ' ' .. digits(limit.rest) .. ' ' .. digits(limit.seen)
  end

  function bucket.wait(limit, cost, kept)
    local early, rest = steps(limit, limit.burst - math.min(cost, limit.burst))
    local at = math.max(limit.arrival, now + (kept or 0)) - early
    if limit.rest > rest then
      at = at + 1
    end
    return math.max(0, at - now)
  end

  function bucket.room(limit, cost, times, kept)
    if cost > limit.burst then
      return limit.borrows and bucket.wait(limit, cost, kept) == 0 and 1 or 0
    end
    local fits, fails = 0, math.min(times, math.floor(limit.burst / cost)) + 1
    if fails > 1 and bucket.wait(limit, (fails - 1) * cost, kept) == 0 then
      return fails - 1
    end
    while fails - fits > 1 do
      local middle = math.floor((fits + fails) / 2)
      if bucket.wait(limit, middle * cost, kept) == 0 then
        fits = middle
      else
        fails = middle
      end
    end
    return fits
  end

  function bucket.left(limit)
    return bucket.room(limit, 1, limit.burst)
  end

  function bucket.take(limit, amount, _, kept)
    if limit.arrival < now + kept then
      limit.arrival, limit.rest = now + kept, 0
    end
    move(limit, amount)
  end

  -- Nothing of a window that is over, and nothing back of what was refilled since.
  function bucket.correct(limit, base, _, _, delta)
    local refilled = limit.span == 0 and delta < 0 and base < limit.seen
    if refilled or (limit.span > 0 and base + limit.span <= now) then
      return
    end
    move(limit, delta)
    catch_up(limit)
  end

  -- What is there at `from` is there at `till`, and no more.
  function bucket.stop(limit, from, till)
    limit.arrival = math.max(limit.arrival, from) + till - from
  end

  function bucket.full(limit)
    return limit.rest > 0 and limit.arrival + 1 or limit.arrival
  end

  return bucket
end

function makers.flight()
  local flight = {}

  function flight.read(limit)
    limit.permits = int()
  end

  function flight.load(limit, state)
    limit.holders, limit.used, limit.mine = {}, 0, nil
    for name, held, till in string.gmatch(state, '(%S+) (%d+) (%d+)') do
      local holder = { name = name, held = tonumber(held), till = tonumber(till) }
      if holder.till > now and holder.held > 0 then
        limit.holders[#limit.holders + 1] = holder
        limit.used = limit.used + holder.held
        if name == process then
          limit.mine = holder
        end
      end
    end
  end

  function flight.save(limit)
    local words = {}
    for _, holder in ipairs(limit.holders) do
      if holder.held > 0 then
        words[#words + 1] = holder.name .. ' ' .. digits(holder.held) .. ' ' .. digits(holder.till)
      end
    end
    return table.concat(words, ' ')
  end

  -- The process holds so many, and has its lease renewed.
  function flight.hold(limit, held)
    if not limit.mine then
      limit.mine = { name = process, held = 0, till = 0 }
      limit.holders[#limit.holders + 1] = limit.mine
    end
    limit.used = limit.used + held - limit.mine.held
    limit.mine.held, limit.mine.till = held, now + lease
  end

  flight.room, flight.left = room_below, left_below

  function flight.wait()
    return -1
  end

  function flight.take(limit, amount)
    flight.hold(limit, (limit.mine and limit.mine.held or 0) + amount)
  end

  function flight.correct() end
  function flight.stop() end

  function flight.full(limit)
    local latest = now
    for _, holder in ipairs(limit.holders) do
      latest = math.max(latest, holder.till)
    end
    return latest
  end

  return flight
end

function makers.total()
  local total = {}

  function total.read(limit)
    limit.permits = int()
  end

  function total.load(limit, state)
    limit.used = tonumber(state) or 0
  end

  function total.save(limit)
    return digits(limit.used)
  end

  total.room, total.left = room_below, left_below

  function total.wait()
    return -1
  end

  function total.take(limit, amount)
    limit.used = limit.used + amount
  end

  function total.correct(limit, _, _, _, delta)
    limit.used = math.max(0, limit.used + delta)
  end

  function total.stop() end
  function total.full() end

  return total
end

function makers.quota()
  local quota = {}

  function quota.read(limit)
    limit.permits = int()
  end

  function quota.load(limit, state)
    local left, till, since = string.match(state, '(%-?%d+) (%d+) (%d+)')
    limit.left, limit.till, limit.since = nil, tonumber(till), tonumber(since)
    if left and limit.till > now then
      limit.left = tonumber(left)
    end
  end

  function quota.save(limit)
    return limit.left and digits(limit.left) .. ' ' .. digits(limit.till) .. ' ' .. digits(limit.since) or ''
  end

  -- By the server's word, of which others that may ask too take one each.
  function quota.hear(limit, left, from, till, others)
    if limit.left and now + from < limit.till then
      limit.left, limit.till = math.min(limit.left, left), math.min(limit.till, now + till)
    elseif till > 0 then
      limit.left, limit.till, limit.since = left - others, now + till, now
    end
  end

  function quota.room(limit, cost, times)
    return limit.left and math.max(0, math.min(times, math.floor(limit.left / cost))) or times
  end

  function quota.left(limit)
    return limit.left or limit.permits
  end

  function quota.wait(limit)
    return limit.left and limit.till - now or -1
  end

  function quota.take(limit, amount)
    limit.left = limit.left and limit.left - amount
  end

  function quota.correct(limit, base, _, _, delta)
    if limit.left and base >= limit.since then
      limit.left = limit.left - delta
    end
  end

  function quota.stop() end

  function quota.full(limit)
    return limit.left and limit.till or now
  end

  return quota
end

---------------------------------------------------------------------------------------------------------- ramps

local function load_ramp(state, out)
  local read = {}
  for figure in string.gmatch(state or '', '%d+') do
    read[#read + 1] = tonumber(figure)
  end
  local ramp = { wave = read[1] or 0, waves = read[2] or 0, width = read[3] or 0, clean = read[4] or 0,
    full = read[5] == 1, ceiling = read[6] or 0, steady = read[7] == 1, out = {} }
  kinds.flight.load(ramp.out, out or '')
  ramp.out.permits = ramp.width
  return ramp
end

local function save_ramp(ramp)
  return string.format('%.0f %.0f %.0f %.0f %d %.0f %d', ramp.wave, ramp.waves, ramp.width, ramp.clean,
    ramp.full and 1 or 0, ramp.ceiling, ramp.steady and 1 or 0)
end

local function set_width(ramp, width)
  ramp.width, ramp.out.permits = width, width
  if width == 0 then
    ramp.waves, ramp.steady = 0, false
    kinds.flight.load(ramp.out, '')
  end
end

-- The server refused a permit of `granted`. Those granted before the last wave belong to it.
local function refuse(ramp, granted)
  if granted < ramp.wave then
    return
  end
  if ramp.width > 0 and ramp.out.used > 1 then
    ramp.ceiling = math.floor(ramp.out.used / 2)
  end
  ramp.wave, ramp.waves = now, math.min(ramp.waves + 1, 62)
  ramp.clean, ramp.full, ramp.steady = 0, false, false
  kinds.flight.load(ramp.out, '')
  set_width(ramp, 1)
end

-- One, then 2, 4, 8 at a time, until the limits are the bound, or nobody is held up any more.
local function widen(ramp, clean, normal)
  ramp.clean = ramp.clean + clean
  local round = ramp.steady and 64 * ramp.width or ramp.width
  if ramp.clean < round then
    return
  end
  local bound = ramp.full
  ramp.clean, ramp.full = 0, false
  if not bound then
    if normal > 0 then
      set_width(ramp, 0)
    else
      ramp.waves = 0
    end
    return
  end
  local width = ramp.steady and ramp.width + 1 or 2 * ramp.width
  if width >= (normal > 0 and normal or 1048576) then
    set_width(ramp, 0)
  elseif normal == 0 and ramp.ceiling > 0 and width >= ramp.ceiling then
    set_width(ramp, ramp.steady and width or ramp.ceiling)
    ramp.steady, ramp.waves = true, 0
  else
    set_width(ramp, width)
  end
end

local function take_places(ramp, granted)
  kinds.flight.take(ramp.out, granted)
  ramp.full = ramp.full or ramp.out.used >= ramp.width
  ramp.changed = true
end

---------------------------------------------------------------------------------------------------------- what is there

-- One look per key, at all of it that matters. A ramp that never was is made when it is needed.
local limits, scopes = {}, {}
for key = 2, #KEYS do
  scopes[key - 1] = { name = KEYS[key], limits = {}, fields = { 'closed', 'ramp', 'usage', 'ends', 'since', 'opened' } }
end
for i = 1, int() do
  local limit = { key = int(), field = text() }
  limit.kind = kinds[text()]
  limit.kind.read(limit)
  limits[i] = limit
  local scope = scopes[limit.key]
  scope.limits[#scope.limits + 1] = limit
  scope.fields[#scope.fields + 1] = limit.field
end
for _, scope in ipairs(scopes) do
  local known = redis.call('HMGET', scope.name, unpack(scope.fields))
  scope.closed, scope.ends = tonumber(known[1] or '0'), known[4] or nil
  scope.since, scope.opened = tonumber(known[5] or '0'), tonumber(known[6] or '0')
  scope.usage, scope.told = 0, 0
  if known[2] then
    scope.ramp = load_ramp(known[2], redis.call('HGET', scope.name, 'out'))
  end
  if known[3] then
    local usage, told = string.match(known[3], '(%d+) (%d+)')
    scope.usage, scope.told = tonumber(usage), tonumber(told)
  end
  for i, limit in ipairs(scope.limits) do
    limit.kind.load(limit, known[6 + i] or '')
  end
end

-- Quotas of a key that this process doesn't know yet, and who may have asked what is left of them.
local function load_learned(scope, index)
  local known = redis.call('HMGET', scope.name, 'quotas', 'probes')
  scope.names, scope.listed, scope.probes = known[1] or '', {}, { permits = 0 }
  kinds.flight.load(scope.probes, known[2] or '')
  for _, limit in ipairs(scope.limits) do
    scope.listed[limit.field] = limit
  end
  for field in string.gmatch(scope.names, '%S+') do
    if not scope.listed[field] then
      local limit = { key = index, field = field, kind = kinds.quota, permits = 0 }
      limit.kind.load(limit, redis.call('HGET', scope.name, field) or '')
      scope.limits[#scope.limits + 1], scope.listed[field] = limit, limit
      if limit.left and string.sub(field, 1, 15) == 'quota:requests:' then
        scope.unnamed = scope.unnamed or {}
        scope.unnamed[#scope.unnamed + 1] = limit
      end
    end
  end
end
if learns then
  for index, scope in ipairs(scopes) do
    load_learned(scope, index)
  end
end

local function quotas_of(scope)
  local known = {}
  for _, limit in ipairs(scope.limits) do
    if limit.kind == kinds.quota and limit.left then
      known[#known + 1] = limit
    end
  end
  return known
end

local function ramp_of(scope)
  scope.ramp = scope.ramp or load_ramp()
  return scope.ramp
end

local function is_opening(scope)
  return scope.ramp and scope.ramp.width > 0
end

---------------------------------------------------------------------------------------------------------- what is told

-- By hand.
local function open(scope)
  scope.opened = math.max(scope.opened, scope.closed)
  scope.reopened = scope.opened > now
end

local function forget(scope)
  open(scope)
  redis.call('DEL', scope.name)
  for _, limit in ipairs(scope.limits) do
    limit.kind.load(limit, '')
    limit.changed = true
  end
  scope.closed, scope.ramp, scope.usage, scope.told, scope.ends, scope.unnamed = 0, nil, 0, 0, nil, nil
  scope.since, scope.forgotten = now, true
  if learns then
    load_learned(scope)
  end
end

local function close(scope, micros)
  local from = math.max(now, scope.closed)
  local till = micros < 0 and now or math.max(from, now + micros)
  for _, limit in ipairs(scope.limits) do
    limit.kind.stop(limit, from, till)
    limit.changed = true
  end
  if micros < 0 then
    open(scope)
  elseif micros > 0 and scope.opened > 0 then
    scope.opened, scope.reopened = 0, true
  end
  scope.closed = till
end

for _ = 1, int() do
  local scope, micros, refused = scopes[int()], int(), int()
  if micros == -2 then
    forget(scope)
  else
    close(scope, micros)
  end
  if refused > 0 then
    local ramp = ramp_of(scope)
    refuse(ramp, refused)
    ramp.changed = true
  end
  scope.changed = true
end
for _ = 1, int() do
  local limit = limits[int()]
  kinds.flight.hold(limit, int())
  limit.changed = true
end
for _ = 1, int() do
  local limit = limits[int()]
  local granted, base, counted, age, delta = int(), int(), int(), int(), int()
  if granted >= scopes[limit.key].since then
    limit.kind.correct(limit, base, counted, age, delta)
    limit.changed = true
  end
end
for _ = 1, int() do
  local scope, wave, held, clean, normal, usage = scopes[int()], int(), int(), int(), int(), int()
  local ramp = scope.ramp
  if is_opening(scope) and ramp.wave == wave then
    kinds.flight.hold(ramp.out, held)
    widen(ramp, clean, normal)
    ramp.changed = true
  end
  if usage >= 0 then
    scope.usage, scope.told, scope.changed, scope.used = usage, now, true, true
  end
end

for _ = 1, int() do
  local limit = limits[int()]
  local scope = scopes[limit.key]
  local probes = scope.probes
  limit.kind.hear(limit, int(), int(), int(), probes.used - (probes.mine and probes.mine.held or 0))
  limit.changed, scope.heard = true, true
  if not string.find(' ' .. scope.names .. ' ', ' ' .. limit.field .. ' ', 1, true) then
    scope.names, scope.changed = scope.names == '' and limit.field or scope.names .. ' ' .. limit.field, true
    scope.renamed = true
  end
end
for _, scope in ipairs(scopes) do
  if scope.heard and scope.probes.used > 0 then
    kinds.flight.load(scope.probes, '')
    scope.probed, scope.changed = true, true
  end
end

---------------------------------------------------------------------------------------------------------- what is asked

local reply = { now }
local function answer(...)
  for i = 1, select('#', ...) do
    reply[#reply + 1] = (select(i, ...))
  end
end
for _, scope in ipairs(scopes) do
  local ramp = scope.ramp
  answer(scope.closed <= now and scope.opened > now and -1 or math.max(0, scope.closed - now), ramp and ramp.wave or 0, ramp and ramp.waves or 0, ramp and ramp.width or 0,
    scope.usage, scope.told)
  if learns then
    local quotas = quotas_of(scope)
    answer(#quotas)
    for _, limit in ipairs(quotas) do
      answer(limit.field, limit.left, limit.till - now)
    end
  end
end

-- While nothing is known of a key's quotas, each process may find out.
local function probe(scope)
  local mine = scope.probes.mine
  if #quotas_of(scope) == 0 and not (mine and mine.till > now + lease / 2) then
    kinds.flight.hold(scope.probes, 1)
    scope.probed, scope.changed = true, true
  end
end

-- What is left of the limit that refused, or of the one with the least left.
local function figures(parts, culprit)
  local left, full, which = -1, -1, culprit
  for _, part in ipairs(parts) do
    local limit = part.limit
    local has = limit.kind.left(limit)
    if part.index == culprit or (culprit == 0 and (left < 0 or has < left)) then
      local at = limit.kind.full(limit)
      left, full, which = math.max(0, has), at and math.max(0, at - now) or -1, part.index
    end
  end
  return which, left, full
end

-- All parts of an ask fit together or none; what the next one waits for is the longest, or what isn't a matter of time.
local function decide(times, keys, parts)
  local granted, wait, culprit_key, culprit = times, 0, 0, 0
  local function refused(longer, key, limit)
    if wait ~= -1 and (longer == -1 or longer > wait) then
      wait, culprit_key, culprit = longer, key, limit
    end
  end
  for _, key in ipairs(keys) do
    local scope = scopes[key]
    if scope.closed > now then
      granted = 0
      refused(scope.closed - now, key, 0)
    elseif is_opening(scope) then
      granted = kinds.flight.room(scope.ramp.out, 1, granted)
    end
  end
  for _, part in ipairs(parts) do
    granted = math.min(granted, part.limit.kind.room(part.limit, part.cost, granted))
  end
  for _, part in ipairs(parts) do
    local limit = part.limit
    if granted > 0 then
      limit.kind.take(limit, granted * part.cost, part.transit, 0)
      limit.changed = true
    end
    if granted < times and limit.kind.room(limit, part.cost, 1) == 0 then
      refused(limit.kind.wait(limit, part.cost), limit.key, part.index)
    end
  end
  for _, key in ipairs(keys) do
    local ramp = scopes[key].ramp
    if is_opening(scopes[key]) then
      if granted > 0 then
        take_places(ramp, granted)
      end
      if granted < times and kinds.flight.room(ramp.out, 1, 1) == 0 then
        refused(-1, key, 0)
      end
    end
  end
  return granted, wait, culprit_key, culprit
end

-- All or none, for whoever comes next, as long as that leaves fifteen times as much to everybody.
local function decide_ahead(ahead, kept, keys, parts)
  for _, key in ipairs(keys) do
    if scopes[key].closed > now or is_opening(scopes[key]) then
      return 0
    end
  end
  for _, part in ipairs(parts) do
    local kind = part.limit.kind
    if kind == kinds.quota or kind.room(part.limit, part.cost, 16 * ahead, kept) < 16 * ahead then
      return 0
    end
  end
  for _, part in ipairs(parts) do
    part.limit.kind.take(part.limit, ahead * part.cost, part.transit, kept)
    part.limit.changed = true
  end
  return ahead
end

for _ = 1, int() do
  local times, ahead, kept, wanted, keys, parts = int(), int(), int(), int() == 1, {}, {}
  for i = 1, int() do
    keys[i] = int()
  end
  for i = 1, int() do
    local index = int()
    parts[i] = { index = index, limit = limits[index], cost = int(), transit = int() }
  end
  for _, key in ipairs(keys) do
    for _, limit in ipairs(scopes[key].unnamed or {}) do
      parts[#parts + 1] = { index = 0, limit = limit, cost = 1, transit = 0 }
    end
  end
  local granted, wait, key, culprit = decide(times, keys, parts)
  if learns and granted > 0 and keys[1] then
    probe(scopes[keys[1]])
  end
  answer(granted)
  if ahead > 0 then
    answer(granted == times and decide_ahead(ahead, kept, keys, parts) or 0)
  end
  if wanted then
    answer(wait, key, figures(parts, culprit))
  else
    answer(wait, key, culprit)
  end
end

---------------------------------------------------------------------------------------------------------- what is kept

local function save_limits(scope, set, gone)
  local full = scope.closed
  for _, limit in ipairs(scope.limits) do
    if limit.changed then
      local state = limit.kind.save(limit)
      if state == '' then
        gone[#gone + 1] = limit.field
      else
        set[#set + 1], set[#set + 2] = limit.field, state
      end
      local at = limit.kind.full(limit)
      full = at and full and math.max(full, at)
      scope.changed = true
    end
  end
  return full
end

-- Never 0, and never less than what other limits of this key were promised. Put off by more than is needed, so that it
-- isn't put off with every call.
local function put_off_end(scope, full, set)
  if not full then
    if scope.ends ~= 'never' then
      set[#set + 1], set[#set + 2] = 'ends', 'never'
      return 'never'
    end
  elseif scope.ends ~= 'never' and full + 1000000 > tonumber(scope.ends or '0') then
    local ends = math.max(full, now) + 11000000
    set[#set + 1], set[#set + 2] = 'ends', digits(ends)
    return ends
  end
end

for _, scope in ipairs(scopes) do
  local set, gone, ramp = {}, {}, scope.ramp
  local full = save_limits(scope, set, gone)
  if ramp and ramp.changed then
    set[#set + 1], set[#set + 2], set[#set + 3], set[#set + 4] = 'ramp', save_ramp(ramp), 'out', kinds.flight.save(ramp.out)
    scope.changed = true
  end
  if scope.renamed then
    set[#set + 1], set[#set + 2] = 'quotas', scope.names
  end
  if scope.probed then
    set[#set + 1], set[#set + 2] = 'probes', kinds.flight.save(scope.probes)
    full = full and math.max(full, now + lease)
  end
  if scope.changed then
    if scope.closed > now then
      set[#set + 1], set[#set + 2] = 'closed', digits(scope.closed)
    elseif scope.closed > 0 then
      gone[#gone + 1] = 'closed'
    end
    if scope.reopened and scope.opened > now then
      set[#set + 1], set[#set + 2] = 'opened', digits(scope.opened)
      full = full and math.max(full, scope.opened)
    elseif scope.reopened then
      gone[#gone + 1] = 'opened'
    end
    if scope.forgotten then
      set[#set + 1], set[#set + 2] = 'since', digits(now)
      full = full and math.max(full, now + 86400000000) -- As long as anybody may still hold what was granted before.
    end
    if scope.used then
      set[#set + 1], set[#set + 2] = 'usage', digits(scope.usage) .. ' ' .. digits(scope.told)
    end
    if full and ((ramp and (ramp.width > 0 or ramp.waves > 0)) or scope.usage > 0) then
      full = math.max(full, now + 300000000) -- As long as a process remembers a key that is idle.
    end
    local ends = put_off_end(scope, full, set)
    if #gone > 0 then
      redis.call('HDEL', scope.name, unpack(gone))
    end
    if #set > 0 then
      redis.call('HSET', scope.name, unpack(set))
    end
    if ends == 'never' then
      redis.call('PERSIST', scope.name)
    elseif ends then
      redis.call('PEXPIRE', scope.name, digits(math.ceil((ends - now) / 1000)))
    end
  end
end
return reply
