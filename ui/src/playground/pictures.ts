// Pictures for a prompt: data URLs, made smaller where they are large, bounded in number and size.

export const MOST_PICTURES = 4;
/** As bytes of a file; base64 makes a third more of it, and four of them stay below the server's bound of 4 MiB. */
export const LARGEST_BYTES = 700 * 1024;
const LONGEST_SIDE = 1536;
const QUALITIES = [0.85, 0.6];

export class PictureRefused extends Error {
  constructor(
    readonly why: "pictureTooLarge" | "pictureUnreadable",
    readonly file: string,
  ) {
    super(why);
  }
}

export async function pictureOf(file: File): Promise<string> {
  const bitmap = await createImageBitmap(file).catch(() => {
    throw new PictureRefused("pictureUnreadable", file.name);
  });
  const [width, height] = fitting(bitmap.width, bitmap.height, LONGEST_SIDE);
  if (file.size <= LARGEST_BYTES && width === bitmap.width) return dataUrl(file);
  for (const quality of QUALITIES) {
    const smaller = await redrawn(bitmap, width, height, quality);
    if (smaller.size <= LARGEST_BYTES) return dataUrl(smaller);
  }
  throw new PictureRefused("pictureTooLarge", file.name);
}

/** In the same proportion, no side longer than `longest`. */
export function fitting(width: number, height: number, longest: number): [width: number, height: number] {
  const scale = Math.min(1, longest / Math.max(width, height));
  return [Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale))];
}

async function redrawn(bitmap: ImageBitmap, width: number, height: number, quality: number): Promise<Blob> {
  const canvas = new OffscreenCanvas(width, height);
  canvas.getContext("2d")?.drawImage(bitmap, 0, 0, width, height);
  return canvas.convertToBlob({ type: "image/jpeg", quality });
}

function dataUrl(blob: Blob): Promise<string> {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(String(reader.result));
    reader.onerror = () => failed(reader.error);
    reader.readAsDataURL(blob);
  });
}
