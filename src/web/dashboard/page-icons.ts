/** The icons of the pages in the navigation and the search, by path: strokes on a 16 by 16 grid. */
export const PAGE_ICONS: Readonly<Record<string, string>> = {
  '/overview': 'M2.5 13.5h11M4 11V8M8 11V4M12 11V6',
  '/agents': 'M2 3h12v10H2ZM4.5 6l2 2-2 2M8.5 10.5h3',
  '/endpoints':
    'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM2 8h12M8 2c2 1.8 2.6 3.8 2.6 6S10 12.2 8 14C6 12.2 5.4 10.2 5.4 8S6 3.8 8 2Z',
  '/domains': 'M2 3.5h12v9H2ZM2 6.5h12M4.2 5h.01',
  '/edges': 'M2.5 14V8a5.5 5.5 0 0 1 11 0v6M5.5 14V8.5a2.5 2.5 0 0 1 5 0V14',
  '/backends': 'M2.5 3h11v4h-11ZM2.5 9h11v4h-11ZM5 5h.01M5 11h.01',
  '/addresses': 'M6 2.5 4.5 13.5M11.5 2.5 10 13.5M2.5 6h11M2.5 10h11',
  '/agent-ingresses': 'M9 3h4.5v10H9M2.5 8h7M7 5.5 9.5 8 7 10.5',
  '/api-keys': 'M5 10.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 7.5h6V10M11.5 7.5v2',
  '/tunnel-credentials': 'M2 4.5h12v2.2a1.3 1.3 0 0 0 0 2.6v2.2H2V9.3a1.3 1.3 0 0 0 0-2.6ZM9.5 4.5v7',
  '/ssh-credentials': 'M3 4.5 6.5 8 3 11.5M8 12h5',
  '/ip-policies': 'M8 2l5 2v4c0 3-2 5-5 6-3-1-5-3-5-6V4ZM6 8l1.5 1.5 3-3',
  '/ip-restrictions': 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM3.8 3.8l8.4 8.4',
  '/users':
    'M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM1.5 13.5c.3-2.7 2-4 4.5-4s4.2 1.3 4.5 4M11 7.5a2 2 0 0 0 0-4M12 9.7c1.5.4 2.3 1.7 2.5 3.8',
  '/bot-users': 'M3 6h10v7H3ZM8 6V3M6 9.5h.01M10 9.5h.01M1.2 9v2M14.8 9v2',
  '/vaults':
    'M2.5 2.5h11v10h-11ZM4.5 12.5v1.5M11.5 12.5v1.5M8 10a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM8 7.5h.01',
  '/secrets': 'M2 6h12v4H2ZM4.5 8h.01M7 8h.01M9.5 8h.01M11.8 7v2',
  '/tls-certificates': 'M3.5 7h9v6.5h-9ZM5.5 7V5a2.5 2.5 0 0 1 5 0v2',
  '/certificate-authorities': 'M8 9.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7ZM6 9l-1 5 3-1.5L11 14l-1-5',
  '/ssh-certificate-authorities': 'M8 2v4M5.5 6h5l1 4h-7ZM3 13.5h10',
  '/ssh-user-certificates':
    'M2 3.5h12v9H2ZM5.5 8a1.3 1.3 0 1 0 0-2.6 1.3 1.3 0 0 0 0 2.6ZM3.8 10.5c.3-1.5 3.1-1.5 3.4 0M9.5 6.5H12M9.5 9H12',
  '/ssh-host-certificates': 'M2 3h12v8H2ZM6 13.5h4M8 11v2.5',
  '/event-destinations': 'M14 2 7 9M14 2 9.5 14 7 9 2 6.5Z',
  '/event-subscriptions': 'M4 11V7a4 4 0 0 1 8 0v4l1 1.5H3ZM7 14.5h2',
  '/audit-log':
    'M2.5 3.5h11M2.5 7h6M2.5 10.5h4M11.5 14a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6ZM11.5 10v1.3l1 .7',
  '/account': 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM2.5 14c.6-3 2.8-4.5 5.5-4.5s4.9 1.5 5.5 4.5',
  '/docs':
    'M2.5 3h4a1.5 1.5 0 0 1 1.5 1.5v9a1.5 1.5 0 0 0-1.5-1.5h-4ZM13.5 3h-4A1.5 1.5 0 0 0 8 4.5v9A1.5 1.5 0 0 1 9.5 12h4Z',
  '/error-pages': 'M2.5 2.5h11v11h-11ZM8 5v4M8 11.2h.01',
  '/application-users':
    'M5.5 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM1.5 13.5c.3-2.4 1.7-3.5 4-3.5s3.7 1.1 4 3.5M10 6l1.5 1.5L14.5 4.5',
  '/application-sessions': 'M2 3h12v10H2ZM2 5.8h12M6 9.4l1.5 1.5 2.8-2.8',
  '/abuse-reports': 'M3.5 14V2.5h8l-1.5 3 1.5 3h-8',
  '/kubernetes-operators': 'M8 1.8l5.4 3.1v6.2L8 14.2l-5.4-3.1V4.9ZM8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z',
  '/reference': 'M3 2.5h8.5a1 1 0 0 1 1 1v10H4a1 1 0 0 1-1-1ZM3 11.5h9.5',
}

export const SEARCH_ICON = 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9ZM10.3 10.3 14 14'
