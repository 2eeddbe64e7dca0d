import { X509Certificate } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'

/** The line that tells how to get rid of the browser's certificate warning. */
export const TRUST_HINT = 'Browsers warn about the https URL until you run: adit server trust'

/** Beside the private root: the fingerprint of the root that `adit server trust` has installed. */
function recordPath(caFile: string): string {
  return `${caFile}.trusted`
}

function fingerprintOf(caFile: string): string {
  return new X509Certificate(readFileSync(caFile)).fingerprint256
}

/**
 * Whether `adit server trust` has installed this root on this machine. Asking every store would start a program for each,
 * and the answer only decides whether `TRUST_HINT` is shown.
 */
export function isRootTrusted(caFile: string): boolean {
  try {
    return readFileSync(recordPath(caFile), 'utf8').trim() === fingerprintOf(caFile)
  } catch {
    return false
  }
}

/** Records that the root is, or no longer is, installed. Without write access the hint stays, which does no harm. */
export function recordTrust(caFile: string, trusted: boolean): void {
  try {
    if (trusted) writeFileSync(recordPath(caFile), `${fingerprintOf(caFile)}\n`)
    else rmSync(recordPath(caFile), { force: true })
  } catch {
    // See above.
  }
}
