import type { NameClaimRequest } from '../name-claim-rules.ts'

let count = 0

/** The claim of a new agent on a name that no other test has, with changes. */
export function nameClaim(changes: Partial<NameClaimRequest> = {}): NameClaimRequest {
  count++
  return {
    name: `test.adit.n${count}`,
    listener: 'https',
    tunnel: `tn_${count}`,
    account: 'ac_1',
    credential: 'cr_1',
    client: `client-${count}`,
    session: `ts_${count}`,
    bind: 'bind',
    proto: 'https',
    pooled: false,
    ...changes,
  }
}
