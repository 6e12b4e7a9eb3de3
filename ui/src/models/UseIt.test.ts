import { expect, test } from "vitest";
import { programFor } from "./UseIt";

test.each(["curl", "python", "javascript"] as const)(
  "%s asks this platform, below its path, for this model",
  (tongue) => {
    const text = programFor(tongue, "org/it's", "https://host/ai");
    expect(text).toContain("https://host/ai/v1");
    expect(text).toContain(tongue === "curl" ? "it'\\''s" : "org/it's");
    expect(text).toContain("GPUSTACK_LITE_API_KEY");
  },
);
