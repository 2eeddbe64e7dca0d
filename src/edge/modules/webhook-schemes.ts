import { hmac, token, type WebhookScheme } from './webhook-hmac.ts'
import {
  contentful,
  graphcms,
  hubspot,
  mailgun,
  mandrill,
  plivo,
  sendgrid,
  twilio,
  twitter,
} from './webhook-own-schemes.ts'
import { sns } from './webhook-sns.ts'

/** The usual case: the body is signed with HMAC-SHA256, in hexadecimal. */
const body = { hash: 'sha256', encoding: 'hex', signed: '{body}' } as const
const bodyInBase64 = { ...body, encoding: 'base64' } as const
/** `t=…,v1=…` over time and body. */
const stamped = { ...body, list: { time: 't', signature: 'v1' }, signed: '{time}.{body}' } as const
/** Standard Webhooks, by what its three fields begin with. */
const standard = (prefix: 'svix' | 'webhook') =>
  hmac({
    ...bodyInBase64,
    field: `${prefix}-signature`,
    list: { signature: 'v1', marks: [' ', ','] },
    idField: `${prefix}-id`,
    timeField: `${prefix}-timestamp`,
    signed: '{id}.{time}.{body}',
    key: 'base64',
  })
const meta = hmac({ ...body, field: 'x-hub-signature-256', prefix: 'sha256=' })

/** How each service signs its webhooks, by the provider's name in the API. */
export const webhookSchemes: Readonly<Record<string, WebhookScheme>> = {
  aftership: hmac({ ...bodyInBase64, field: 'aftership-hmac-sha256' }),
  airship: hmac({
    ...body,
    field: 'x-ua-signature',
    timeField: 'x-ua-timestamp',
    signed: '{time}:{body}',
    unzipped: true,
  }),
  alchemy: hmac({ ...body, field: 'x-alchemy-signature' }),
  autodesk: hmac({ ...body, field: 'x-adsk-signature', hash: 'sha1', prefix: 'sha1hash=' }),
  bitbucket: hmac({ ...body, field: 'x-hub-signature', prefix: 'sha256=' }),
  bolt: hmac({ ...bodyInBase64, field: 'x-bolt-hmac-sha256' }),
  box: hmac({
    ...bodyInBase64,
    field: 'box-signature-primary',
    secondField: 'box-signature-secondary',
    timeField: 'box-delivery-timestamp',
    timeUnit: 'iso',
    tolerance: 600,
    signed: '{body}{time}',
  }),
  brex: standard('webhook'),
  buildkite: hmac({
    ...stamped,
    field: 'x-buildkite-signature',
    list: { time: 'timestamp', signature: 'signature' },
  }),
  calendly: hmac({ ...stamped, field: 'calendly-webhook-signature' }),
  castle: hmac({ ...bodyInBase64, field: 'x-castle-signature' }),
  chargify: hmac({ ...body, field: 'x-chargify-webhook-signature-hmac-sha-256' }),
  circleci: hmac({ ...body, field: 'circleci-signature', list: { signature: 'v1' } }),
  clearbit: hmac({ ...body, field: 'x-request-signature', hash: 'sha1', prefix: 'sha1=' }),
  clerk: standard('svix'),
  coinbase: hmac({ ...body, field: 'x-cc-webhook-signature' }),
  contentful,
  docusign: hmac({ ...bodyInBase64, field: 'x-docusign-signature-1' }),
  dropbox: hmac({ ...body, field: 'x-dropbox-signature' }),
  facebook_graph_api: meta,
  facebook_messenger: meta,
  frameio: hmac({
    ...body,
    field: 'x-frameio-signature',
    prefix: 'v0=',
    timeField: 'x-frameio-request-timestamp',
    signed: 'v0:{time}:{body}',
  }),
  github: hmac({ ...body, field: 'x-hub-signature-256', prefix: 'sha256=' }),
  gitlab: token('x-gitlab-token'),
  go1: hmac({ ...stamped, field: 'go1-signature' }),
  graphcms,
  heroku: hmac({ ...bodyInBase64, field: 'heroku-webhook-hmac-sha256' }),
  hostedhooks: hmac({ ...stamped, field: 'hostedhooks-signature', list: { time: 't', signature: 's' } }),
  hubspot,
  instagram: meta,
  intercom: hmac({ ...body, field: 'x-hub-signature', hash: 'sha1', prefix: 'sha1=' }),
  launch_darkly: hmac({ ...body, field: 'x-ld-signature' }),
  mailchimp: mandrill,
  mailgun,
  microsoft_teams: hmac({ ...bodyInBase64, field: 'authorization', prefix: 'HMAC ', key: 'base64' }),
  modern_treasury: hmac({ ...body, field: 'x-signature' }),
  mongodb: hmac({ ...bodyInBase64, field: 'x-mms-signature', hash: 'sha1' }),
  mux: hmac({ ...stamped, field: 'mux-signature' }),
  orb: hmac({
    ...body,
    field: 'x-orb-signature',
    prefix: 'v1=',
    timeField: 'x-orb-timestamp',
    timeUnit: 'iso',
    signed: 'v1:{time}:{body}',
  }),
  orbit: hmac({ ...body, field: 'x-orbit-signature', prefix: 'sha256=' }),
  pagerduty: hmac({ ...body, field: 'x-pagerduty-signature', list: { signature: 'v1' } }),
  pinwheel: hmac({
    ...body,
    field: 'x-pinwheel-signature',
    prefix: 'v2=',
    timeField: 'x-timestamp',
    signed: 'v2:{time}:{body}',
  }),
  plivo,
  pusher: hmac({ ...body, field: 'x-pusher-signature' }),
  sendgrid,
  sentry: hmac({ ...body, field: 'sentry-hook-signature' }),
  shopify: hmac({ ...bodyInBase64, field: 'x-shopify-hmac-sha256' }),
  signal_sciences: hmac({ ...body, field: 'x-sigsci-signature' }),
  slack: hmac({
    ...body,
    field: 'x-slack-signature',
    prefix: 'v0=',
    timeField: 'x-slack-request-timestamp',
    signed: 'v0:{time}:{body}',
  }),
  sns,
  sonatype: hmac({ ...body, field: 'x-nexus-webhook-signature', hash: 'sha1' }),
  square: hmac({ ...bodyInBase64, field: 'x-square-hmacsha256-signature', signed: '{url}{body}' }),
  stripe: hmac({ ...stamped, field: 'stripe-signature' }),
  svix: standard('svix'),
  terraform: hmac({ ...body, field: 'x-tfe-notification-signature', hash: 'sha512' }),
  tiktok: hmac({ ...stamped, field: 'tiktok-signature', list: { time: 't', signature: 's' } }),
  trendmicro_conformity: hmac({ ...body, field: 'x-conformity-signature' }),
  twilio,
  twitter,
  typeform: hmac({ ...bodyInBase64, field: 'typeform-signature', prefix: 'sha256=' }),
  webex: hmac({ ...body, field: 'x-spark-signature', hash: 'sha1' }),
  whatsapp: meta,
  worldline: hmac({ ...bodyInBase64, field: 'x-gcs-signature' }),
  xero: hmac({ ...bodyInBase64, field: 'x-xero-signature' }),
  zendesk: hmac({
    ...bodyInBase64,
    field: 'x-zendesk-webhook-signature',
    timeField: 'x-zendesk-webhook-signature-timestamp',
    timeUnit: 'iso',
    signed: '{time}{body}',
  }),
  zoom: hmac({
    ...body,
    field: 'x-zm-signature',
    prefix: 'v0=',
    timeField: 'x-zm-request-timestamp',
    signed: 'v0:{time}:{body}',
  }),
}

/** Providers the API knows that cannot be checked here, and why. An endpoint that asks for one lets nobody in. */
export const uncheckedProviders: Readonly<Record<string, string>> = {
  vmware: 'how it signs is not public',
}
