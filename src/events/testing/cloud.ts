import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto'
import type { TestContext } from 'node:test'
import { SignatureV4 } from '@smithy/signature-v4'
import type { SourceData } from '@smithy/types'
import { type ReceivedRequest, type Sink, type SinkResponse, startSink } from './sink.ts'

/** The keys that the fake cloud accepts. */
export const LONG_TERM = { accessKeyId: 'AKIDLONGTERM', secretAccessKey: 'long-term-secret' }

/** A fake cloud: verifies the signature of each request and lets the test respond by operation. */
export interface Cloud extends Sink {
  /** Signatures that did not match, with the reason. */
  readonly unsigned: string[]
  /** Session tokens that have expired. */
  readonly expiredTokens: Set<string>
  /** Roles assumed, with the external id of each. */
  readonly assumed: { role: string; externalId: string }[]
}

/** Handles an operation, such as `PutRecords`. */
export type OperationHandler = (operation: string, arrival: ReceivedRequest) => SinkResponse

const SESSION_SECRET = 'session-secret'

/** Starts the fake cloud, which handles AssumeRole itself. */
export async function startCloud(t: TestContext, serve: OperationHandler): Promise<Cloud> {
  const extras = {
    unsigned: [] as string[],
    expiredTokens: new Set<string>(),
    assumed: [] as { role: string; externalId: string }[],
  }
  const sink = await startSink(t, async (request) => {
    const name = operationName(request)
    const signatureFailure = await signatureError(request)
    if (signatureFailure !== undefined) {
      extras.unsigned.push(`${name}: ${signatureFailure}`)
      return rejection(name, 403, 'SignatureDoesNotMatch')
    }
    if (extras.expiredTokens.has(request.headers['x-amz-security-token'] ?? ''))
      return rejection(name, 400, name === 'PutObject' ? 'ExpiredToken' : 'ExpiredTokenException')
    if (name === 'AssumeRole') return assumeRole(request, extras.assumed)
    return serve(name, request)
  })
  return Object.assign(sink, extras)
}

function rejection(operation: string, status: number, type: string): SinkResponse {
  const message = 'The security token or signature is not accepted.'
  return operation === 'PutObject' ? xmlProblem(status, type, message) : problem(status, type, message)
}

/** An error as the storage service writes it. */
export function xmlProblem(status: number, code: string, message: string): SinkResponse {
  return {
    status,
    headers: { 'content-type': 'application/xml' },
    body: `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`,
  }
}

/** An error as the JSON services write it. */
export function problem(status: number, type: string, message: string): SinkResponse {
  return {
    status,
    headers: { 'content-type': 'application/x-amz-json-1.1', 'x-amzn-errortype': type },
    body: JSON.stringify({ __type: type, message }),
  }
}

/** A response as the JSON services write it. */
export function json(value: unknown): SinkResponse {
  return {
    status: 200,
    headers: { 'content-type': 'application/x-amz-json-1.1' },
    body: JSON.stringify(value),
  }
}

function operationName({ headers, method, body }: ReceivedRequest): string {
  const target = headers['x-amz-target']
  if (target !== undefined) return target.split('.')[1] ?? ''
  if (method === 'PUT') return 'PutObject'
  return new URLSearchParams(body.toString()).get('Action') ?? ''
}

function assumeRole({ body }: ReceivedRequest, assumed: Cloud['assumed']): SinkResponse {
  const form = new URLSearchParams(body.toString())
  assumed.push({ role: form.get('RoleArn') ?? '', externalId: form.get('ExternalId') ?? '' })
  const expiration = new Date(Date.now() + 3_600_000).toISOString()
  return {
    status: 200,
    headers: { 'content-type': 'text/xml' },
    body: `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
      <AccessKeyId>ASIASESSION</AccessKeyId><SecretAccessKey>${SESSION_SECRET}</SecretAccessKey>
      <SessionToken>session-${assumed.length}</SessionToken><Expiration>${expiration}</Expiration>
      </Credentials></AssumeRoleResult></AssumeRoleResponse>`,
  }
}

/** The digest interface of the signer: plain, or keyed with a secret. */
class Sha256 {
  readonly #digest: Hash | Hmac

  constructor(secret?: SourceData) {
    this.#digest =
      secret === undefined ? createHash('sha256') : createHmac('sha256', secret as string | Uint8Array)
  }

  update(data: SourceData): void {
    this.#digest.update(data as string | Uint8Array)
  }

  async digest(): Promise<Uint8Array> {
    return this.#digest.digest()
  }

  reset(): void {}
}

const AUTHORIZATION =
  /Credential=([^/]+)\/\d+\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), Signature=/

/** Signs the received request again and compares: detects any change after signing. */
async function signatureError(request: ReceivedRequest): Promise<string | undefined> {
  const { headers, method, path, query, body } = request
  const match = AUTHORIZATION.exec(headers.authorization ?? '')
  if (!match) return 'there is no signature'
  const [, keyId = '', region = '', service = '', names = ''] = match
  const secretAccessKey = keyId === LONG_TERM.accessKeyId ? LONG_TERM.secretAccessKey : SESSION_SECRET
  const signed = Object.fromEntries(names.split(';').map((name) => [name, headers[name] ?? '']))
  const date = headers['x-amz-date'] ?? ''
  const signer = new SignatureV4({
    service,
    region,
    sha256: Sha256,
    uriEscapePath: service !== 's3',
    applyChecksum: false,
    credentials: { accessKeyId: keyId, secretAccessKey },
  })
  const resigned = await signer.sign(
    {
      method,
      protocol: 'http:',
      hostname: headers.host ?? '',
      path,
      query: Object.fromEntries(query),
      headers: signed,
      body,
    },
    {
      signingDate: new Date(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z')),
      signableHeaders: new Set(names.split(';')),
    },
  )
  const [expected, actual] = [resigned.headers.authorization, headers.authorization]
  return expected === actual ? undefined : `expected ${expected}, got ${actual}`
}
