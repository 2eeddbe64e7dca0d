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
} from './webhook-custom-schemes.ts'
import { hmacScheme, tokenScheme, type WebhookScheme } from './webhook-hmac.ts'
import { sns } from './webhook-sns.ts'

/** The usual case: HMAC-SHA256 of the body, in hexadecimal. */
const hexBody = { hash: 'sha256', encoding: 'hex', signed: '{body}' } as const
const base64Body = { ...hexBody, encoding: 'base64' } as const
/** `t=…,v1=…` over time and body. */
const timestamped = { ...hexBody, list: { time: 't', signature: 'v1' }, signed: '{time}.{body}' } as const
/** Standard Webhooks, by the prefix of its three fields. */
const standardWebhooks = (prefix: 'svix' | 'webhook') =>
  hmacScheme({
    ...base64Body,
    field: `${prefix}-signature`,
    list: { signature: 'v1', separators: [' ', ','] },
    idField: `${prefix}-id`,
    timeField: `${prefix}-timestamp`,
    signed: '{id}.{time}.{body}',
    key: 'base64',
  })
const meta = hmacScheme({ ...hexBody, field: 'x-hub-signature-256', prefix: 'sha256=' })

/** The signature scheme of each provider, by its name in the API. */
export const webhookSchemes: Readonly<Record<string, WebhookScheme>> = {
  aftership: hmacScheme({ ...base64Body, field: 'aftership-hmac-sha256' }),
  airship: hmacScheme({
    ...hexBody,
    field: 'x-ua-signature',
    timeField: 'x-ua-timestamp',
    signed: '{time}:{body}',
    decompressBody: true,
  }),
  alchemy: hmacScheme({ ...hexBody, field: 'x-alchemy-signature' }),
  autodesk: hmacScheme({ ...hexBody, field: 'x-adsk-signature', hash: 'sha1', prefix: 'sha1hash=' }),
  bitbucket: hmacScheme({ ...hexBody, field: 'x-hub-signature', prefix: 'sha256=' }),
  bolt: hmacScheme({ ...base64Body, field: 'x-bolt-hmac-sha256' }),
  box: hmacScheme({
    ...base64Body,
    field: 'box-signature-primary',
    secondaryField: 'box-signature-secondary',
    timeField: 'box-delivery-timestamp',
    timeUnit: 'iso',
    tolerance: 600,
    signed: '{body}{time}',
  }),
  brex: standardWebhooks('webhook'),
  buildkite: hmacScheme({
    ...timestamped,
    field: 'x-buildkite-signature',
    list: { time: 'timestamp', signature: 'signature' },
  }),
  calendly: hmacScheme({ ...timestamped, field: 'calendly-webhook-signature' }),
  castle: hmacScheme({ ...base64Body, field: 'x-castle-signature' }),
  chargify: hmacScheme({ ...hexBody, field: 'x-chargify-webhook-signature-hmac-sha-256' }),
  circleci: hmacScheme({ ...hexBody, field: 'circleci-signature', list: { signature: 'v1' } }),
  clearbit: hmacScheme({ ...hexBody, field: 'x-request-signature', hash: 'sha1', prefix: 'sha1=' }),
  clerk: standardWebhooks('svix'),
  coinbase: hmacScheme({ ...hexBody, field: 'x-cc-webhook-signature' }),
  contentful,
  docusign: hmacScheme({ ...base64Body, field: 'x-docusign-signature-1' }),
  dropbox: hmacScheme({ ...hexBody, field: 'x-dropbox-signature' }),
  facebook_graph_api: meta,
  facebook_messenger: meta,
  frameio: hmacScheme({
    ...hexBody,
    field: 'x-frameio-signature',
    prefix: 'v0=',
    timeField: 'x-frameio-request-timestamp',
    signed: 'v0:{time}:{body}',
  }),
  github: hmacScheme({ ...hexBody, field: 'x-hub-signature-256', prefix: 'sha256=' }),
  gitlab: tokenScheme('x-gitlab-token'),
  go1: hmacScheme({ ...timestamped, field: 'go1-signature' }),
  graphcms,
  heroku: hmacScheme({ ...base64Body, field: 'heroku-webhook-hmac-sha256' }),
  hostedhooks: hmacScheme({
    ...timestamped,
    field: 'hostedhooks-signature',
    list: { time: 't', signature: 's' },
  }),
  hubspot,
  instagram: meta,
  intercom: hmacScheme({ ...hexBody, field: 'x-hub-signature', hash: 'sha1', prefix: 'sha1=' }),
  jira: hmacScheme({ ...hexBody, field: 'x-hub-signature', prefix: 'sha256=' }),
  launch_darkly: hmacScheme({ ...hexBody, field: 'x-ld-signature' }),
  linear: hmacScheme({ ...hexBody, field: 'linear-signature' }),
  mailchimp: mandrill,
  mailgun,
  microsoft_teams: hmacScheme({ ...base64Body, field: 'authorization', prefix: 'HMAC ', key: 'base64' }),
  modern_treasury: hmacScheme({ ...hexBody, field: 'x-signature' }),
  mongodb: hmacScheme({ ...base64Body, field: 'x-mms-signature', hash: 'sha1' }),
  mux: hmacScheme({ ...timestamped, field: 'mux-signature' }),
  orb: hmacScheme({
    ...hexBody,
    field: 'x-orb-signature',
    prefix: 'v1=',
    timeField: 'x-orb-timestamp',
    timeUnit: 'iso',
    signed: 'v1:{time}:{body}',
  }),
  orbit: hmacScheme({ ...hexBody, field: 'x-orbit-signature', prefix: 'sha256=' }),
  pagerduty: hmacScheme({ ...hexBody, field: 'x-pagerduty-signature', list: { signature: 'v1' } }),
  pinwheel: hmacScheme({
    ...hexBody,
    field: 'x-pinwheel-signature',
    prefix: 'v2=',
    timeField: 'x-timestamp',
    signed: 'v2:{time}:{body}',
  }),
  plivo,
  pusher: hmacScheme({ ...hexBody, field: 'x-pusher-signature' }),
  sendgrid,
  sentry: hmacScheme({ ...hexBody, field: 'sentry-hook-signature' }),
  shopify: hmacScheme({ ...base64Body, field: 'x-shopify-hmac-sha256' }),
  signal_sciences: hmacScheme({ ...hexBody, field: 'x-sigsci-signature' }),
  slack: hmacScheme({
    ...hexBody,
    field: 'x-slack-signature',
    prefix: 'v0=',
    timeField: 'x-slack-request-timestamp',
    signed: 'v0:{time}:{body}',
  }),
  sns,
  sonatype: hmacScheme({ ...hexBody, field: 'x-nexus-webhook-signature', hash: 'sha1' }),
  square: hmacScheme({ ...base64Body, field: 'x-square-hmacsha256-signature', signed: '{url}{body}' }),
  stripe: hmacScheme({ ...timestamped, field: 'stripe-signature' }),
  svix: standardWebhooks('svix'),
  terraform: hmacScheme({ ...hexBody, field: 'x-tfe-notification-signature', hash: 'sha512' }),
  tiktok: hmacScheme({ ...timestamped, field: 'tiktok-signature', list: { time: 't', signature: 's' } }),
  trendmicro_conformity: hmacScheme({ ...hexBody, field: 'x-conformity-signature' }),
  twilio,
  twitter,
  typeform: hmacScheme({ ...base64Body, field: 'typeform-signature', prefix: 'sha256=' }),
  webex: hmacScheme({ ...hexBody, field: 'x-spark-signature', hash: 'sha1' }),
  whatsapp: meta,
  worldline: hmacScheme({ ...base64Body, field: 'x-gcs-signature' }),
  xero: hmacScheme({ ...base64Body, field: 'x-xero-signature' }),
  zendesk: hmacScheme({
    ...base64Body,
    field: 'x-zendesk-webhook-signature',
    timeField: 'x-zendesk-webhook-signature-timestamp',
    timeUnit: 'iso',
    signed: '{time}{body}',
  }),
  zoom: hmacScheme({
    ...hexBody,
    field: 'x-zm-signature',
    prefix: 'v0=',
    timeField: 'x-zm-request-timestamp',
    signed: 'v0:{time}:{body}',
  }),
}

/** Providers in the API that cannot be verified here, and why. An endpoint that uses one denies all traffic. */
export const unsupportedProviders: Readonly<Record<string, string>> = {
  vmware: 'how it signs is not public',
}
