import type { CaptureTiming } from '../../../agent/local-api/page-data.ts'
import { formatDuration } from '../../shared/units.ts'

const PARTS = [
  ['request', 'Receive request'],
  ['wait', 'Wait for the service'],
  ['response', 'Send response'],
] as const

/** Where the time of an exchange went. */
export function Timing({ timing, inFlight }: { timing: CaptureTiming; inFlight: boolean }) {
  const total = timing.request + timing.wait + timing.response
  let start = 0
  return (
    <dl className="timing" aria-label="Timing">
      {PARTS.map(([part, label]) => {
        const share = total === 0 ? 0 : (100 * timing[part]) / total
        const offset = start
        start += share
        return (
          <div key={part} className="timing-part">
            <dt>{label}</dt>
            <dd>
              <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
                <rect className="track" width="100" height="6" />
                <rect className={part} x={Math.min(offset, 99)} width={Math.max(share, 1)} height="6" />
              </svg>
              {inFlight && part === 'response' ? 'In flight' : formatDuration(timing[part])}
            </dd>
          </div>
        )
      })}
    </dl>
  )
}
