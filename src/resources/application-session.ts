import { Type } from 'typebox'
import type { UserProfile } from './application-user.ts'
import { defineResource, identity, live } from './schema/define.ts'
import { described, nullable, object, plain, reference, text } from './schema/value.ts'

const userAgent = object(
  {
    raw: described(text(1024), 'The User-Agent header of the sign-in.'),
    browser_name: described(text(64), 'The browser, such as Firefox; empty when unknown.'),
    browser_version: described(text(64), 'The version of the browser.'),
    device_type: described(text(16), 'Desktop, Mobile, Tablet or Bot.'),
    os_name: described(text(64), 'The operating system, such as Windows; empty when unknown.'),
    os_version: described(text(64), 'The version of the operating system.'),
  },
  { name: 'user agent' },
)

const number = nullable(plain<number>(Type.Number(), 0))

const location = object(
  {
    country_code: described(nullable(text(8)), 'The two-letter country code.'),
    latitude: described(number, 'The latitude in degrees.'),
    longitude: described(number, 'The longitude in degrees.'),
    lat_long_radius_km: described(number, 'The accuracy of the coordinates, in kilometers.'),
  },
  { name: 'session location' },
)

const browserSession = object(
  {
    user_agent: described(userAgent, 'The browser and its operating system, from its User-Agent header.'),
    ip_address: described(text(64), 'The IP address of the sign-in.'),
    location: described(
      nullable(location),
      'The location of that address; null unless IP data was imported.',
    ),
  },
  { name: 'browser session' },
)

/** A session of a visitor who has signed in. Created by signing in. */
export const ApplicationSession = defineResource({
  name: 'application session',
  description:
    'Sessions of visitors who have signed in through the OAuth, OpenID Connect and SAML modules and actions. Deleting one signs the visitor out.',
  path: '/app/sessions',
  prefix: 'as',
  listKey: 'application_sessions',
  online: true,
  operations: ['get', 'list', 'delete'],
  fields: {
    ...identity,
    public_url: live(text(2048), 'Where the visitor signed in.'),
    browser_session: live(browserSession, 'The browser of the visitor.'),
    application_user: live(nullable(reference(['au'], 'application_user_id')), 'The visitor who signed in.'),
    last_active: live(text(64), 'When the visitor last sent a request, to the minute.'),
    expires_at: live(text(64), 'When the session ends without further requests.'),
    endpoint: live(nullable(reference(['ep'], 'endpoint_id')), 'The endpoint; null for an edge.'),
    edge: live(nullable(reference(['edghts'], 'edge_id')), 'The edge; null for an endpoint.'),
    route: live(nullable(reference(['edghtsrt'], 'route_id')), 'The route of the edge.'),
  },
})

/** Where an address is, as far as imported data tells. */
export interface SessionLocation {
  readonly country_code: string | null
  readonly latitude: number | null
  readonly longitude: number | null
  readonly lat_long_radius_km: number | null
}

/** Where a session was started, and from which browser. */
export interface SessionDetails {
  readonly public_url: string
  readonly user_agent: string
  readonly ip_address: string
  readonly location: SessionLocation | null
  readonly endpoint_id: string | null
  readonly edge_id: string | null
  readonly route_id: string | null
}

/** A session that a visitor has started, as the edge reports it to the store. Times are milliseconds since 1970. */
export interface StartedSession {
  readonly id: string
  readonly account: string
  /** The scope of its revocations, and the subject that stands for the person there. */
  readonly scopeId: string
  readonly person: string
  /** The application at its provider and the session there, where the provider reports sign-outs by these. */
  readonly client?: string
  readonly providerSession?: string
  /** The subject that stands for the person in revocations of the whole account. */
  readonly user: string
  readonly profile: UserProfile
  readonly details: SessionDetails
  readonly startedAt: number
  /** When it ends at the latest. */
  readonly endsAt: number
  /** When it ends without further requests. */
  readonly expiresAt: number
}

/** A later request of a session. */
export interface SessionActivity {
  readonly account: string
  readonly id: string
  readonly lastActive: number
  readonly expiresAt: number
}
