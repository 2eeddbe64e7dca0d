import { createJsonApi, parseJson } from './api-call.ts'
import {
  CHALLENGE_TTL,
  defineProvider,
  findClosestZone,
  type ProviderZone,
  quote,
  unquote,
} from './provider.ts'

interface Envelope<T> {
  readonly errors: readonly { readonly code: number; readonly message: string }[]
  readonly result: T
}

interface TxtRecord {
  readonly id: string
  readonly content: string
}

/** Cloudflare, API v4. The token needs the permissions Zone Read and DNS Edit for the zone. */
export const cloudflare = defineProvider({
  title: 'Cloudflare',
  variables: {
    token: { names: ['CLOUDFLARE_API_TOKEN', 'CF_DNS_API_TOKEN'] },
    baseUrl: { names: ['CLOUDFLARE_BASE_URL'], fallback: 'https://api.cloudflare.com/client/v4' },
  },
  open(settings, context) {
    const dialect = {
      title: 'Cloudflare',
      reason: (body: string) =>
        parseJson<Envelope<unknown>>(body)
          ?.errors?.map(({ code, message }) => `${message} (${code})`)
          .join(', '),
    }
    const call = createJsonApi(dialect, settings, context)

    async function list(zone: ProviderZone, name: string, values: readonly string[]): Promise<TxtRecord[]> {
      const query = { type: 'TXT', name, per_page: '100' }
      const answer = await call<Envelope<TxtRecord[]>>('GET', `/zones/${zone.id}/dns_records`, { query })
      return (answer?.result ?? []).filter(({ content }) => values.includes(unquote(content)))
    }

    return {
      findZone: (name) =>
        findClosestZone(name, async (candidate) => {
          const answer = await call<Envelope<ProviderZone[]>>('GET', '/zones', { query: { name: candidate } })
          return answer?.result?.find((zone) => zone.name === candidate)
        }),
      async addTxt(zone, name, values) {
        const existing = (await list(zone, name, values)).map(({ content }) => unquote(content))
        for (const value of values.filter((each) => !existing.includes(each)))
          await call('POST', `/zones/${zone.id}/dns_records`, {
            body: { type: 'TXT', name, content: quote(value), ttl: CHALLENGE_TTL },
          })
      },
      async removeTxt(zone, name, values) {
        for (const { id } of await list(zone, name, values))
          await call('DELETE', `/zones/${zone.id}/dns_records/${id}`, { accept: [404] })
      },
    }
  },
})
