import { newId } from '../../src/base/values/id.ts'
import type { StartedSession } from '../../src/resources/index.ts'
import { type DurableStore, openApplicationSessions } from '../../src/store/index.ts'

/** A session as the edge reports it, of a new visitor unless `overrides` says who it is. */
export function startedSession(account: string, overrides: Partial<StartedSession> = {}): StartedSession {
  const id = newId('as')
  const startedAt = Date.now() - 1000
  return {
    id,
    account,
    scopeId: 'edghtsrt_1',
    person: `person ${id}`,
    user: `user ${id}`,
    profile: {
      identity_provider: { name: 'google', url: 'https://accounts.google.com' },
      provider_user_id: id,
      username: 'ada',
      email: 'ada@example.com',
      name: 'Ada',
    },
    details: {
      public_url: 'https://app.example.com',
      user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
      ip_address: '192.0.2.1',
      location: { country_code: 'AU', latitude: -33.86, longitude: 151.2, lat_long_radius_km: 20 },
      endpoint_id: null,
      edge_id: newId('edghts'),
      route_id: newId('edghtsrt'),
    },
    startedAt,
    endsAt: startedAt + 3_600_000,
    expiresAt: startedAt + 1_800_000,
    ...overrides,
  }
}

/** Records a session of a new visitor, without traffic; returns the ids of both. */
export async function recordVisitor({
  store,
  account: { accountId },
}: {
  store: DurableStore
  account: { accountId: string }
}): Promise<{ user: string; session: string }> {
  const sessions = openApplicationSessions(store)
  const started = startedSession(accountId)
  await sessions.record([started], [])
  const [row] = await sessions.sessions(accountId, { from: started.id, limit: 1 })
  return { user: row!.userId, session: started.id }
}
