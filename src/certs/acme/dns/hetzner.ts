import { createJsonApi, parseJson } from './api-call.ts'
import {
  CHALLENGE_TTL,
  defineProvider,
  findClosestZone,
  type ProviderZone,
  quote,
  relativeName,
  unquote,
} from './provider.ts'

const LOCKED = 423
const CONFLICT = 409

/** Hetzner, DNS of the Cloud API. The token of the project that holds the zone needs the permission Read & Write. */
export const hetzner = defineProvider({
  title: 'Hetzner',
  variables: {
    token: { names: ['HCLOUD_TOKEN', 'HETZNER_API_TOKEN', 'HETZNER_TOKEN'] },
    baseUrl: { names: ['HCLOUD_ENDPOINT'], fallback: 'https://api.hetzner.cloud/v1' },
  },
  open(settings, context) {
    const dialect = {
      title: 'Hetzner',
      reason: (body: string) => {
        const error = parseJson<{ error: { code: string; message: string } }>(body)?.error
        return error && `${error.message} (${error.code})`
      },
      // A zone is locked while an earlier change is applied.
      isTransient: (status: number) => status === LOCKED || status === CONFLICT,
    }
    const call = createJsonApi(dialect, settings, context)
    const pathOf = (zone: ProviderZone, name: string) =>
      `/zones/${zone.id}/rrsets/${encodeURIComponent(relativeName(name, zone))}/TXT`
    const toRecords = (values: readonly string[]) => values.map((value) => ({ value: quote(value) }))

    /** The values at a name; undefined when it has no TXT record. */
    async function list(zone: ProviderZone, name: string): Promise<string[] | undefined> {
      const answer = await call<{ rrset: { records: { value: string }[] } }>('GET', pathOf(zone, name), {
        accept: [404],
      })
      return answer?.rrset?.records.map(({ value }) => unquote(value))
    }

    return {
      findZone: (name) =>
        findClosestZone(name, async (candidate) => {
          const answer = await call<{ zone: { id: number } }>('GET', `/zones/${candidate}`, { accept: [404] })
          return answer?.zone && { id: String(answer.zone.id), name: candidate }
        }),
      async addTxt(zone, name, values) {
        const existing = await list(zone, name)
        const missing = values.filter((value) => existing?.includes(value) !== true)
        if (missing.length === 0) return
        await call('POST', `${pathOf(zone, name)}/actions/add_records`, {
          // Only a new record set takes a TTL; another one than that of an existing set is an error.
          body: { ...(existing === undefined && { ttl: CHALLENGE_TTL }), records: toRecords(missing) },
        })
      },
      async removeTxt(zone, name, values) {
        const existing = await list(zone, name)
        const present = values.filter((value) => existing?.includes(value))
        if (present.length === 0) return
        await call('POST', `${pathOf(zone, name)}/actions/remove_records`, {
          body: { records: toRecords(present) },
          accept: [404],
        })
      },
    }
  },
})
