/** Yields the items of pages until one is empty; `after` is the cursor of the last item. */
export async function* everyItem<Item extends { readonly cursor: string }>(
  start: string | undefined,
  read: (after: string | undefined) => Promise<readonly Item[]>,
): AsyncGenerator<Item, void, undefined> {
  let after = start;
  for (;;) {
    const page = await read(after);
    yield* page;
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.cursor;
  }
}

/** Options without those that are no part of the request. */
export function split<Options extends object>(
  options: Options,
): { readonly call: CallParts; readonly rest: Omit<Options, keyof CallParts> } {
  const { signal, timeout, ...rest } = options as Options & CallParts;
  return { call: { ...(signal && { signal }), ...(timeout !== undefined && { timeout }) }, rest };
}

interface CallParts {
  readonly signal?: AbortSignal;
  readonly timeout?: number;
}
