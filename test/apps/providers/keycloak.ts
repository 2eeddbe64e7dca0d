import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { findFreePorts } from '../../support/free-ports.ts'
import { missingPrograms } from '../../support/required-programs.ts'
import { startServiceProgram } from '../../support/service-program.ts'
import { installMaven } from '../installs.ts'

const VERSION = '26.6.4'
const SHA256 = '386b566bbea05527226e275c43e5cf6f218896ad2441ac4be5c39f1226772e8f'
const ADMIN = { username: 'admin', password: 'admin' }
/** The first start of an installation also builds the server. */
const START_TIMEOUT_MS = 600_000
/** Longer than any test; the default is a minute. */
const ADMIN_SESSION_SECONDS = 36_000

/** Why Keycloak cannot run here; false when it can. */
export const reasonWithoutKeycloak: string | false = missingPrograms('java', 'mvn')

/** A representation of Keycloak's administration API. */
export type Representation = Readonly<Record<string, unknown>>

/** A Keycloak server with the realms that tests create. */
export interface Keycloak {
  /** Creates a realm with what this adds to it, such as users and groups. */
  createRealm(realm: Representation): Promise<KeycloakRealm>
}

/** The people, groups and applications of one test. */
export interface KeycloakRealm {
  readonly issuer: string
  readonly samlMetadataUrl: string
  /** Changes the realm itself, or with a path what is below it. */
  call(method: string, path: string, body?: unknown): Promise<unknown>
  createClient(client: Representation): Promise<void>
  /** Creates a SAML client as an administrator does, by importing the metadata of a service provider. */
  importSamlClient(metadata: string, changes?: Representation): Promise<void>
  /** Changes some fields of a client, and some of its attributes. */
  changeClient(clientId: string, changes: Representation): Promise<void>
}

/** A person with a password, for the users of a realm. Groups are paths. */
export function createUser(
  username: string,
  { password, ...more }: Representation & { readonly password: string },
): Representation {
  return {
    username,
    enabled: true,
    email: `${username}@example.com`,
    emailVerified: true,
    credentials: [{ type: 'password', value: password }],
    ...more,
  }
}

/** Starts Keycloak in development mode with a database in memory. Skips the test if it cannot be installed. */
export async function startKeycloak(
  t: TestContext,
  {
    flags = [],
    env = {},
  }: {
    /** More options of `kc.sh start-dev`, such as those of TLS. */
    flags?: readonly string[]
    /** Environment variables, such as those that preload a library which changes the clock. */
    env?: Readonly<Record<string, string>>
  } = {},
): Promise<Keycloak | undefined> {
  const dir = await installMaven(t, 'org.keycloak', 'keycloak-quarkus-dist', VERSION, SHA256)
  if (dir === undefined) return undefined
  const port = await findFreePorts(1)
  const url = `http://127.0.0.1:${port}`
  const address = ['--http-host=127.0.0.1', `--http-port=${port}`]
  const command = [`${dir}/bin/kc.sh`, 'start-dev', '--db=dev-mem', ...address, ...flags] as const
  const admin = {
    KC_BOOTSTRAP_ADMIN_USERNAME: ADMIN.username,
    KC_BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password,
  }
  await startServiceProgram(t, command, {
    port,
    env: { ...admin, ...env },
    timeoutMs: START_TIMEOUT_MS,
  })

  let token = await requestAdminToken(url)
  const send = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${url}/admin/realms${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }
  await send('PUT', '/master', {
    accessTokenLifespan: ADMIN_SESSION_SECONDS,
    ssoSessionIdleTimeout: ADMIN_SESSION_SECONDS,
  })
  token = await requestAdminToken(url)

  let count = 0
  return {
    async createRealm(realm) {
      const name = `realm-${++count}`
      await send('POST', '', { realm: name, enabled: true, ...realm })
      return openRealm(`${url}/realms/${name}`, (method, path, body) => send(method, `/${name}${path}`, body))
    },
  }
}

async function requestAdminToken(url: string): Promise<string> {
  const response = await fetch(`${url}/realms/master/protocol/openid-connect/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'password', client_id: 'admin-cli', ...ADMIN }),
  })
  const { access_token: token } = (await response.json()) as { access_token: string }
  return token
}

function openRealm(issuer: string, call: KeycloakRealm['call']): KeycloakRealm {
  const createClient = async (client: Representation) => void (await call('POST', '/clients', client))
  return {
    issuer,
    samlMetadataUrl: `${issuer}/protocol/saml/descriptor`,
    call,
    createClient,
    async importSamlClient(metadata, changes = {}) {
      const client = (await call('POST', '/client-description-converter', metadata)) as Representation
      await createClient(merge(client, changes))
    },
    async changeClient(clientId, changes) {
      const found = (await call(
        'GET',
        `/clients?clientId=${encodeURIComponent(clientId)}`,
      )) as Representation[]
      const [client] = found
      assert.ok(client, `Keycloak has no client ${clientId}`)
      await call('PUT', `/clients/${client.id}`, merge(client, changes))
    },
  }
}

function merge(client: Representation, changes: Representation): Representation {
  const attributes = { ...(client.attributes as Representation), ...(changes.attributes as Representation) }
  return { ...client, ...changes, attributes }
}

/** Adds the groups of a user to ID tokens, as the claim `groups` with full paths. */
export const GROUPS_CLAIM: Representation = {
  name: 'groups',
  protocol: 'openid-connect',
  protocolMapper: 'oidc-group-membership-mapper',
  config: { 'claim.name': 'groups', 'full.path': 'true', 'id.token.claim': 'true' },
}

/** Adds the realm roles of a user to ID tokens; only access tokens have them without it. */
export const ROLES_CLAIM: Representation = {
  name: 'roles',
  protocol: 'openid-connect',
  protocolMapper: 'oidc-usermodel-realm-role-mapper',
  config: {
    'claim.name': 'realm_access.roles',
    'jsonType.label': 'String',
    multivalued: 'true',
    'id.token.claim': 'true',
  },
}

/** Adds the groups of a user to assertions, as the attribute `groups` with names instead of paths. */
export const GROUPS_ATTRIBUTE: Representation = {
  name: 'groups',
  protocol: 'saml',
  protocolMapper: 'saml-group-membership-mapper',
  config: {
    'attribute.name': 'groups',
    'attribute.nameformat': 'Basic',
    single: 'true',
    'full.path': 'false',
  },
}

/** Adds the address of a user to assertions, as the attribute `email`. */
export const EMAIL_ATTRIBUTE: Representation = {
  name: 'email',
  protocol: 'saml',
  protocolMapper: 'saml-user-property-mapper',
  config: { 'attribute.name': 'email', 'attribute.nameformat': 'Basic', 'user.attribute': 'email' },
}
