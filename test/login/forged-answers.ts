import type { TestContext } from 'node:test'
import { CookieClient } from '../support/browser-client.ts'
import { type Forged, forge } from './saml-forge.ts'
import { samlPlace } from './saml-route.ts'

/** How an answer differs from what is right. */
export type Change = Partial<Forged>

/** A place that SAML protects, and a provider that answers as told. */
export async function startForging(t: TestContext, settings: Record<string, unknown> = {}) {
  const place = await samlPlace(t, settings)
  const { platform, url, idp, saml } = place
  const right = { key: idp.key, acs: saml.assertion_consumer_service_url, entityId: saml.entity_id }

  /** Begins in a browser of its own, answers as told, and says who came in, or with which status nobody did. */
  async function attempt(change: Change = {}, spoil = (xml: string) => xml): Promise<string | number> {
    const client = new CookieClient(platform)
    const begun = await client.once(`${url}/page`)
    const asked = await idp.request(begun.headers.get('location') ?? '')
    const xml = spoil(forge({ ...right, requestId: asked.id, ...change }))
    return outcomeOf(await place.post(xml, asked.relayState, client))
  }

  /** The same without a request. */
  async function initiate(change: Change = {}, spoil = (xml: string) => xml): Promise<string | number> {
    const xml = spoil(forge({ ...right, ...change }))
    return outcomeOf(await place.post(xml, `${url}/page`, new CookieClient(platform)))
  }

  return { ...place, right, attempt, initiate }
}

/** Who came in, or with which status nobody did. */
export function outcomeOf({ status, text }: { status: number; text: string }): string | number {
  return status === 200 ? String(JSON.parse(text)['adit-auth-user-id']) : status
}
