import type { CallContext } from '../overload.ts'
import { overload } from '../signature.ts'
import { isZoneLoaded, type LocalTime, localTime } from '../time.ts'
import { type Duration, int, type Timestamp } from '../values.ts'

const TIME_COST = 20
const ZONE_COST = 200

/** The first look at a time zone loads its rules. */
const NEW_ZONE_COST = 5000

const getter = (name: string, read: (time: LocalTime) => number) => [
  overload(`timestamp.${name}() -> int`, (context: CallContext, time: Timestamp) => {
    context.charge(TIME_COST)
    return read(localTime(time, 'UTC'))
  }),
  overload(`timestamp.${name}(string) -> int`, (context: CallContext, time: Timestamp, zone: string) => {
    context.charge(isZoneLoaded(zone) ? ZONE_COST : NEW_ZONE_COST)
    return read(localTime(time, zone))
  }),
]

const converter = (name: string, unit: bigint, within?: bigint) =>
  overload(`duration.${name}() -> int`, (_context, { nanos }: Duration) =>
    int(within === undefined ? nanos / unit : (nanos / unit) % within),
  )

/** The parts of timestamps and durations. */
export const times = [
  ...getter('getFullYear', ({ year }) => year),
  ...getter('getMonth', ({ month }) => month),
  ...getter('getDate', ({ day }) => day),
  ...getter('getDayOfMonth', ({ day }) => day - 1),
  ...getter('getDayOfWeek', ({ weekday }) => weekday),
  ...getter('getDayOfYear', ({ dayOfYear }) => dayOfYear),
  ...getter('getHours', ({ hours }) => hours),
  ...getter('getMinutes', ({ minutes }) => minutes),
  ...getter('getSeconds', ({ seconds }) => seconds),
  ...getter('getMilliseconds', ({ millis }) => millis),
  converter('getHours', 3_600_000_000_000n),
  converter('getMinutes', 60_000_000_000n),
  converter('getSeconds', 1_000_000_000n),
  converter('getMilliseconds', 1_000_000n, 1000n),
]
