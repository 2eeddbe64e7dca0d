import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { createOutbound } from '../../../base/outbound/outbound.ts'
import { ALLOW_EVERYONE, type AllowRules } from '../../login/allow-rules.ts'
import { BackchannelLogout } from '../../login/oidc/backchannel-logout.ts'
import { type OidcOptions, OidcSignIn } from '../../login/oidc/oidc.ts'
import { ReplayGuard } from '../../login/sessions/replay-guard.ts'
import { Revocations } from '../../login/sessions/revocations.ts'
import { forgetfulLoginStore } from './login-store.ts'

export const IDP_URL = 'https://idp.adit.localhost'

/** A signing key of the provider. */
export interface SigningKey {
  readonly kid: string
  readonly alg: 'RS256' | 'ES256'
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

export function createSigningKey(kid: string, alg: SigningKey['alg'] = 'RS256'): SigningKey {
  const pair =
    alg === 'RS256'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { kid, alg, ...pair }
}

export const [firstKey, secondKey] = [createSigningKey('first'), createSigningKey('second')]

/** How the test provider behaves. The defaults are correct behaviour. */
export interface ProviderBehaviour {
  claims: (claims: Record<string, unknown>) => Record<string, unknown>
  header: Record<string, unknown>
  key: SigningKey
  published: SigningKey[]
  signer: (input: string, key: SigningKey) => Buffer
  description: Record<string, unknown>
  token: (response: ServerResponse, idToken: string) => void
  /** The UserInfo response. */
  userinfo: Record<string, unknown>
  /** Overrides the discovery, keys or UserInfo response. */
  describe: ((response: ServerResponse) => void) | undefined
  publish: ((response: ServerResponse) => void) | undefined
  inform: ((response: ServerResponse) => void) | undefined
  /** The only method with which the client may authenticate; undefined accepts all. */
  registered: 'client_secret_basic' | 'client_secret_post' | 'none' | undefined
  /** How the token endpoint rejects a client. */
  rejectClient: (response: ServerResponse) => void
  /** The code of a request whose client is rejected cannot be used again. */
  usesUpCodes: boolean
}

const CLIENT_SECRET = 'app-secret'

/** The method with which a client authenticates, and its secret. RFC 6749 section 2.3.1: HTTP Basic has it encoded as in a form. */
function readCredentials(authorization: string | undefined, form: URLSearchParams): [string, string] {
  const inForm = form.get('client_secret')
  if (inForm !== null) return ['client_secret_post', inForm]
  if (authorization === undefined) return ['none', '']
  const credentials = Buffer.from(authorization.replace(/^Basic /, ''), 'base64').toString()
  return ['client_secret_basic', decodeURIComponent(credentials.slice(credentials.indexOf(':') + 1))]
}

const encodeSegment = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A JSON Web Token as the provider signs them. */
export function signToken(
  claims: Record<string, unknown>,
  { header = {}, key = firstKey, signer = signWith }: Partial<ProviderBehaviour> = {},
): string {
  const { alg, kid } = key
  const input = `${encodeSegment({ alg, kid, ...header })}.${encodeSegment(claims)}`
  return `${input}.${signer(input, key).toString('base64url')}`
}

// RFC 7518 section 3.4: an ECDSA signature is the two integers, concatenated.
const signWith: ProviderBehaviour['signer'] = (input, { privateKey }) =>
  sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' })

export function respondWithToken(response: ServerResponse, idToken: string | undefined): void {
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ access_token: 'x', token_type: 'Bearer', id_token: idToken }))
}

/** A configurable OpenID provider, and a sign-in that uses it. */
export async function startOpenidProvider(t: TestContext) {
  const behaviour: ProviderBehaviour = {
    claims: (claims) => claims,
    header: {},
    key: firstKey,
    published: [firstKey],
    signer: signWith,
    description: {},
    token: respondWithToken,
    userinfo: { sub: 'ada', name: 'Ada', email: 'ada@example.com' },
    describe: undefined,
    publish: undefined,
    inform: undefined,
    registered: undefined,
    rejectClient: (response) => response.writeHead(401).end(JSON.stringify({ error: 'invalid_client' })),
    usesUpCodes: false,
  }
  const observed = {
    tokenRequests: 0,
    /** How the client authenticated in each of them. */
    methods: [] as string[],
    nonce: '',
    keyRequests: 0,
    descriptions: 0,
    form: new URLSearchParams(),
    /** The Authorization header of the token request, if any. */
    tokenAuthorization: undefined as string | undefined,
    /** Requests to the UserInfo endpoint. */
    userinfo: [] as { url: string; authorization: string | undefined }[],
  }
  const usedCodes = new Set<string>()
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '', 'http://x').pathname
    response.setHeader('content-type', 'application/json')
    if (path === '/.well-known/openid-configuration') {
      observed.descriptions++
      if (behaviour.describe !== undefined) behaviour.describe(response)
      else
        response.end(
          JSON.stringify({
            issuer,
            authorization_endpoint: `${issuer}/auth`,
            token_endpoint: `${issuer}/token`,
            jwks_uri: `${issuer}/keys`,
            userinfo_endpoint: `${issuer}/userinfo`,
            response_types_supported: ['code'],
            id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
            end_session_endpoint: `${issuer}/end`,
            ...behaviour.description,
          }),
        )
    } else if (path === '/keys') {
      observed.keyRequests++
      if (behaviour.publish !== undefined) {
        behaviour.publish(response)
        return
      }
      const keys = behaviour.published.map(({ kid, alg, publicKey }) => ({
        ...publicKey.export({ format: 'jwk' }),
        kid,
        alg,
        use: 'sig',
      }))
      response.end(JSON.stringify({ keys }))
    } else if (path === '/token') {
      observed.tokenRequests++
      observed.tokenAuthorization = request.headers.authorization
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        observed.form = new URLSearchParams(Buffer.concat(chunks).toString())
        const [method, secret] = readCredentials(observed.tokenAuthorization, observed.form)
        observed.methods.push(method)
        const code = observed.form.get('code') ?? ''
        const { registered = method, rejectClient, usesUpCodes } = behaviour
        if (method !== registered || (method !== 'none' && secret !== CLIENT_SECRET)) {
          if (usesUpCodes) usedCodes.add(code)
          rejectClient(response)
          return
        }
        if (usedCodes.has(code)) {
          response.statusCode = 400
          response.end(JSON.stringify({ error: 'invalid_grant' }))
          return
        }
        usedCodes.add(code)
        const nowSeconds = Math.floor(Date.now() / 1000)
        const claims = behaviour.claims({
          iss: issuer,
          sub: 'ada',
          aud: 'app',
          exp: nowSeconds + 300,
          iat: nowSeconds,
          nonce: observed.nonce,
          name: 'Ada',
          email: 'ada@example.com',
        })
        behaviour.token(response, signToken(claims, behaviour))
      })
    } else if (path === '/userinfo') {
      observed.userinfo.push({ url: request.url ?? '', authorization: request.headers.authorization })
      if (behaviour.inform !== undefined) behaviour.inform(response)
      else response.end(JSON.stringify(behaviour.userinfo))
    } else response.writeHead(404).end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const outbound = createOutbound({ allow: ['127.0.0.1'], totalTimeoutMs: 1000 })
  t.after(async () => {
    await outbound.close()
    server.closeAllConnections()
    server.close()
  })
  const time = { now: 0 }
  const clock = { now: () => Date.now(), monotonic: () => time.now }
  const createSignIn = (
    from = issuer,
    allow: Partial<AllowRules> = {},
    client: Partial<Pick<OidcOptions, 'clientSecret' | 'tokenAuthMethod'>> = {},
  ) =>
    new OidcSignIn({
      issuer: from,
      clientId: 'app',
      clientSecret: CLIENT_SECRET,
      tokenAuthMethod: '',
      ...client,
      scopes: [],
      parameters: {},
      allow: { ...ALLOW_EVERYONE, ...allow },
      outbound,
      idpUrl: () => IDP_URL,
      clock,
      backchannelLogout: new BackchannelLogout({
        accountId: 'ac_test',
        issuer: from,
        clientId: 'app',
        store: forgetfulLoginStore,
        replayGuard: new ReplayGuard(clock),
        revocations: new Revocations(),
        clock,
        clockSkewSeconds: 60,
        maxSeconds: 3600,
      }),
    })
  let codes = 0

  async function attempt(
    signIn = createSignIn(),
    parameters: Record<string, string> = {},
    callbackPath?: string,
  ) {
    const memory = signIn.createMemory()
    const begun = { signInId: 'x', memory }
    const url = new URL(await signIn.begin(begun, 'the-state'))
    observed.nonce = url.searchParams.get('nonce') ?? ''
    const redirectUri = url.searchParams.get('redirect_uri') ?? ''
    const path = callbackPath ?? new URL(redirectUri).pathname
    const query = new URLSearchParams({ code: `code-${++codes}`, state: 'the-state', ...parameters })
    const response = { path, query, state: parameters.state ?? 'the-state' }
    return { ...(await signIn.complete(response, begun)), url, memory, redirectUri }
  }

  return {
    behaviour,
    observed,
    time,
    issuer,
    outbound,
    createSignIn,
    attempt,
  }
}

/** Ways in which a server can fail to respond. */
export const faults: Record<string, (response: ServerResponse) => void> = {
  hangs: () => {},
  floods: (response) => void response.end(Buffer.alloc(2_000_000, ' ')),
  breaks: (response) => void response.writeHead(503).end('{}'),
  leaves: (response) => void response.destroy(),
  drips(response) {
    const timer = setInterval(() => response.write(' '), 50)
    response.on('close', () => clearInterval(timer))
  },
}
