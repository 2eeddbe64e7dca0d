import type { TestContext } from 'node:test'
import { CookieClient } from '../support/browser-client.ts'
import { type ForgedResponse, forgeResponse } from './saml-forge.ts'
import { startSamlRoute } from './saml-route.ts'

/** The fields of a forged response that differ from a valid one. */
export type ForgedOverrides = Partial<ForgedResponse>

/** Starts a route that SAML protects, with a provider that sends forged responses. */
export async function startForgingRoute(t: TestContext, settings: Record<string, unknown> = {}) {
  const samlRoute = await startSamlRoute(t, settings)
  const { platform, url, idp, saml } = samlRoute
  const validFields = { key: idp.key, acs: saml.assertion_consumer_service_url, entityId: saml.entity_id }

  /** Begins a sign-in in a new browser, posts a forged response, and returns the user id or the error status. */
  async function attempt(
    overrides: ForgedOverrides = {},
    tamper = (xml: string) => xml,
  ): Promise<string | number> {
    const client = new CookieClient(platform)
    const redirectResponse = await client.once(`${url}/page`)
    const authnRequest = await idp.request(redirectResponse.headers.get('location') ?? '')
    const xml = tamper(forgeResponse({ ...validFields, requestId: authnRequest.id, ...overrides }))
    return toOutcome(await samlRoute.post(xml, authnRequest.relayState, client))
  }

  /** The same, initiated by the provider. */
  async function initiate(
    overrides: ForgedOverrides = {},
    tamper = (xml: string) => xml,
  ): Promise<string | number> {
    const xml = tamper(forgeResponse({ ...validFields, ...overrides }))
    return toOutcome(await samlRoute.post(xml, `${url}/page`, new CookieClient(platform)))
  }

  return { ...samlRoute, validFields, attempt, initiate }
}

/** Returns the id of the signed-in user, or the error status. */
export function toOutcome({ status, text }: { status: number; text: string }): string | number {
  return status === 200 ? String(JSON.parse(text)['adit-auth-user-id']) : status
}
