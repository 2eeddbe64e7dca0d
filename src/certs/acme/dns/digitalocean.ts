import { createJsonApi, parseJson } from './api-call.ts'
import {
  CHALLENGE_TTL,
  defineProvider,
  findClosestZone,
  type ProviderZone,
  relativeName,
} from './provider.ts'

interface DomainRecord {
  readonly id: number
  readonly data: string
}

/** DigitalOcean, API v2. The token needs the scopes domain:read, domain:create, domain:update and domain:delete. */
export const digitalocean = defineProvider({
  title: 'DigitalOcean',
  variables: {
    token: { names: ['DIGITALOCEAN_ACCESS_TOKEN', 'DIGITALOCEAN_TOKEN', 'DO_AUTH_TOKEN'] },
    baseUrl: { names: ['DIGITALOCEAN_API_URL'], fallback: 'https://api.digitalocean.com' },
  },
  open(settings, context) {
    const dialect = {
      title: 'DigitalOcean',
      reason: (body: string) => parseJson<{ message: string }>(body)?.message,
    }
    const call = createJsonApi(dialect, settings, context)

    async function list(
      { id }: ProviderZone,
      name: string,
      values: readonly string[],
    ): Promise<DomainRecord[]> {
      // The filter takes the complete name, a new record the relative one.
      const query = { type: 'TXT', name, per_page: '200' }
      const answer = await call<{ domain_records: DomainRecord[] }>('GET', `/v2/domains/${id}/records`, {
        query,
      })
      return (answer?.domain_records ?? []).filter(({ data }) => values.includes(data))
    }

    return {
      findZone: (name) =>
        findClosestZone(name, async (candidate) => {
          const answer = await call('GET', `/v2/domains/${candidate}`, { accept: [404] })
          return answer && { id: candidate, name: candidate }
        }),
      async addTxt(zone, name, values) {
        const existing = (await list(zone, name, values)).map(({ data }) => data)
        for (const value of values.filter((each) => !existing.includes(each)))
          await call('POST', `/v2/domains/${zone.id}/records`, {
            body: { type: 'TXT', name: relativeName(name, zone), data: value, ttl: CHALLENGE_TTL },
          })
      },
      async removeTxt(zone, name, values) {
        for (const { id } of await list(zone, name, values))
          await call('DELETE', `/v2/domains/${zone.id}/records/${id}`, { accept: [404] })
      },
    }
  },
})
